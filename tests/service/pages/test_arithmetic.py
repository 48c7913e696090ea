"""The numbers behind the pictures: minutes, bars, places of a family, leases told by a log."""

from __future__ import annotations

from typing import Any

from tessera.limits import SAMPLES_MAX
from tessera.models import NULL, Event
from tessera.rows import EdgeRow, Relative
from tessera.service.pages.charts import CHART_HEIGHT, CHART_WIDTH, NODE_HEIGHT, bars, picture
from tessera.service.pages.leases import ToldLease, leases_of
from tessera.service.pages.render import document, duration, text
from tessera.service.pages.sampler import MINUTE_US, Sampler


def relative(serial: int, place: int, parent: int | None = None) -> Relative:
    """A task of a family."""
    return Relative(serial, f"t-{serial}", "q", "k", 0, parent, place)


def event(type: str, token: int | None, at: str, worker: str = "w") -> Event:
    """A line of a log."""
    return Event(1, at, type, "q", "t", worker, token, "k", NULL)


def test_counts_what_each_minute_did() -> None:
    """A minute has what was done between its end and the end of the one before; what was done before the
    first look belongs to none, unless its queue is newer than that.
    """
    sampler = Sampler()
    for seconds, done in ((0, 100), (30, 103), (60, 103), (90, 110), (190, 111)):
        sampler.sample(seconds * MINUTE_US // 60, {"q": done})
    sampler.sample(200 * MINUTE_US // 60, {"q": 111, "new": 5})

    assert sampler.minutes("q") == [3, 7, 0, 1]
    assert sampler.minutes("new") == [5]
    assert sampler.minutes("unknown") == []


def test_forgets_after_an_hour() -> None:
    """An hour is remembered, however long nobody looked, and a queue that is gone is forgotten."""
    sampler = Sampler()
    for minute in range(3 * SAMPLES_MAX):
        sampler.sample(minute * MINUTE_US, {"q": minute, "gone": minute})
    assert sampler.minutes("q") == [1] * SAMPLES_MAX
    sampler.sample(10_000 * MINUTE_US, {"q": 3 * SAMPLES_MAX})

    assert sampler.minutes("q") == [0] * (SAMPLES_MAX - 1) + [1]
    assert sampler.minutes("gone") == []


def test_names_the_busiest() -> None:
    """The busiest come first, by name where they are even; those that did nothing are left out."""
    sampler = Sampler()
    sampler.sample(0, dict.fromkeys("abcd", 0))
    sampler.sample(1, {"a": 2, "b": 5, "c": 0, "d": 2})

    assert sampler.busiest(9) == ["b", "a", "d"]
    assert sampler.busiest(1) == ["b"]


def test_bars_fill_the_chart() -> None:
    """The highest minute is as high as the chart, the least a pixel, a quiet one has no bar, and the current
    minute is at the right edge.
    """
    path = bars([1_000, 0, 1])

    assert path.count("M") == 2
    assert path.startswith(f"M{CHART_WIDTH - 3 * CHART_WIDTH / SAMPLES_MAX:g} {CHART_HEIGHT}v-{CHART_HEIGHT}")
    assert f"M{CHART_WIDTH - CHART_WIDTH / SAMPLES_MAX:g} {CHART_HEIGHT}v-1h" in path
    assert bars([]) == bars([0, 0]) == ""


def test_a_family_stands_in_columns() -> None:
    """What comes before a task is left of it, what comes of it right, nobody stands on anybody, everybody is
    within the picture, and each bond has its line.
    """
    children = [relative(10 + number, 1, 1) for number in range(5)]
    grandchild = relative(20, 2, 10)
    others = [relative(3, -2), relative(2, -1), relative(30, 9)]
    edges = [EdgeRow(2, 1), EdgeRow(1, 30), EdgeRow(10, 11), EdgeRow(99, 1)]
    drawn = picture(relative(1, 0, 3), [*others, *children, grandchild], edges)
    at = {node.relative.serial: node for node in drawn.nodes}

    assert at[3].x == at[2].x < at[1].x < at[10].x == at[30].x < at[20].x
    for one in drawn.nodes:
        assert one.x >= 0
        assert 0 <= one.y <= drawn.height - NODE_HEIGHT
        beside = [node.y for node in drawn.nodes if node is not one and node.x == one.x]
        assert all(abs(one.y - y) >= NODE_HEIGHT for y in beside)
    assert [line.depends for line in drawn.lines].count(False) == 7
    assert [line.depends for line in drawn.lines].count(True) == 3


def test_leases_as_a_log_tells_them() -> None:
    """Each claim is a lease, ended by the first event of its token that ends one; what is no lease's is
    passed over.
    """
    told = leases_of([
        event("enqueued", None, "0"), event("claimed", 1, "1"), event("heartbeat", 1, "2"),
        event("job_registered", 1, "3"), event("lease_lapsed", 1, "4"), event("retry_scheduled", 1, "5"),
        event("submitted", 7, "6"), event("claimed", 2, "7", "x"),
    ])  # fmt: skip

    assert told == [ToldLease(1, "w", "k", "1", 1, "4", "lease_lapsed"), ToldLease(2, "x", "k", "7")]


def test_text_stays_in_its_place() -> None:
    """Control characters are struck out of what others wrote, long texts are cut and say so, documents are
    indented, and time spans have two units.
    """
    long: Any = "x" * 100_000

    assert text("a\x1b[2J\x00b\tc\nd\x9b") == "a\ufffd[2J\ufffdb\tc\nd\ufffd"
    assert text(None) == ""
    assert text(long).endswith(f"… and {100_000 - 65_536} characters more")
    assert document('{"a":[1]}') == '{\n  "a": [\n    1\n  ]\n}'
    assert document("broken") == "(no JSON)"
    assert [duration(s) for s in (0, 59.9, 3_600, 90_061)] == ["0 s", "59 s", "1 h", "1 d 1 h"]
