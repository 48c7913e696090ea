"""`/board`: for everybody, true, small, and alive."""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable

from service.pages.browsing import Page, Visitor
from service.running import Running

Visit = Callable[..., Visitor]
QUEUES = 200
BYTES_MAX = 50 << 10


def cells(page: str, queue: str) -> list[str]:
    """What the row of a queue says."""
    row = re.search(rf'<tr><th scope="row">{queue}</th>(.*?)</tr>', page, re.DOTALL)
    return re.findall(r"<td>(.*?)</td>", row[1], re.DOTALL)


def test_agrees_with_the_counts(own: Running) -> None:
    """Without a key the board shows every queue's six counts as the API has them, the age of its oldest ready
    task, and what is late.
    """
    queue = own.queue("q", max_attempts=1)
    for _ in range(9):
        own.enqueue(queue)
    for number in range(3):
        lease = own.claim(queue).json
        body = {"task_id": lease["task_id"], "fencing_token": 1, "ok": number > 0, "error": None}
        body |= {} if number else {"error": "no"}
        own.post("/v1/tasks/submit", body, headers={"idempotency-key": f"k{number}"})
    own.claim(queue)
    own.post("/v1/tasks/cancel", {"task_id": own.enqueue(queue), "reason": "r"})
    visitor = Visitor(own)
    said = cells(visitor.http.get("/board").text, queue)
    visitor.close()
    counts = own.get("/v1/counts").json["queues"][queue]

    assert [re.sub(r"\D", "", cell) for cell in said[:6]] == [str(number) for number in counts.values()]
    assert list(counts.values()) == [5, 1, 0, 2, 1, 1]
    assert re.fullmatch(r"\d s", said[6])


def test_charts_the_last_hour(own: Running) -> None:
    """What was done since the service started is a chart with its numbers in words; a queue in which nothing
    was done has none.
    """
    own.queue("idle")
    own.queue("busy")
    own.enqueue("idle")
    visitor = Visitor(own)
    assert "Nothing was done" in visitor.get("/board").text
    for number in range(4):
        own.enqueue("busy")
        lease = own.claim("busy").json
        body = {"task_id": lease["task_id"], "fencing_token": 1}
        own.post("/v1/tasks/submit", body, headers={"idempotency-key": f"k{number}"})
    until = time.monotonic() + 30
    charts: list[str | None] = []
    while not charts and time.monotonic() < until:
        time.sleep(0.2)  # a rendering serves for a second
        page = Page(visitor.http.get("/board").text)
        charts = [given.get("aria-label") for given in page.named("svg")]
    visitor.close()

    assert charts == ["busy: 4 done in the last hour, at most 4 in one minute"]
    assert all(given.get("d") for given in page.named("path"))


def test_two_hundred_queues_are_small(own: Running) -> None:
    """With 200 queues, each of them busy, the compressed board is under 50 KiB, and is what the plain one
    says.
    """
    for number in range(QUEUES):
        own.queue(f"a-queue-with-a-longer-name-{number}")
        own.enqueue(f"a-queue-with-a-longer-name-{number}")
    visitor = Visitor(own)
    with visitor.http.stream("GET", "/board", headers={"accept-encoding": "gzip"}) as answer:
        packed = b"".join(answer.iter_raw())
    plain = visitor.http.get("/board", headers={"accept-encoding": "identity"})
    visitor.close()

    assert answer.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert len(packed) < BYTES_MAX
    assert gzip.decompress(packed).count(b'<th scope="row">') == QUEUES == plain.text.count('scope="row"')


def test_refreshes_by_itself(visit: Visit) -> None:
    """The board looks again by a script, without one by the browser's own means; `?still` does neither."""
    live, still = visit().http.get("/board").text, visit().http.get("/board?still=1").text

    assert '<noscript><meta http-equiv="refresh" content="15"></noscript>' in live
    assert Page(live).named("script") != []
    assert "http-equiv" not in still
    assert Page(still).named("script") == []
    assert visit().http.get("/board?sort=1").status_code == 400


def test_many_look_at_one_rendering(service: Running, visit: Visit) -> None:
    """Looks within a second are given the same page, so that a crowd costs no more than one."""
    visitor = visit()
    texts = [visitor.http.get("/board").text for _ in range(20)]

    assert len(set(texts)) <= 3


def test_shows_no_content(own: Running) -> None:
    """Neither briefs, nor workers, nor task ids, nor keys are on the board."""
    own.queue("q")
    task_id = own.enqueue("q", brief={"word": "xyzzy"}, kind="a-kind")
    own.claim("q", worker="a-worker")
    visitor = Visitor(own)
    text = visitor.http.get("/board").text
    visitor.close()

    keys = [key["key_id"] for key in own.get("/v1/admin/keys").json["keys"]]
    assert [word for word in (task_id, "xyzzy", "a-kind", "a-worker", *keys) if word in text] == []
    assert json.dumps(own.admin) not in text
