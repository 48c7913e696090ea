"""From a store's log to wakes: each event wakes once for each rule, whatever is restarted."""

from __future__ import annotations

from pathlib import Path

import pytest
from wake.conftest import Daemon

import tessera
from tessera.wake.bridge import Bridge, load_rules
from tessera.wake.errors import InvalidRequest

RULES = """
[[rule]]
name = "ready-reviews"
queue = "review"
wake = "api"
text = "{task_id} of {queue} is {event} ({seq})"

[[rule]]
name = "answers"
on = "resumed"
kind = "deep"
wake = "web"
"""


@pytest.fixture
def followed(daemon: Daemon) -> Daemon:
    """A daemon with an endpoint for each repository, and a rules file."""
    daemon.start()
    daemon.register("file", {"path": str(daemon.folder / "api.txt")}, delivery_ack_mode="injected")
    daemon.register("file", {"path": str(daemon.folder / "web.txt")}, name="w", repos=["web"])
    (daemon.folder / "rules.toml").write_text(RULES)
    return daemon


def follow(daemon: Daemon, *options: str, code: int = 0) -> str:
    store, rules = str(daemon.folder / "work.db"), str(daemon.folder / "rules.toml")
    return daemon.run("bridge", "--store", store, "--rules", rules, "--once", *options, code=code).stderr


def test_a_store_that_is_not_there_is_not_made(followed: Daemon) -> None:
    """The bridge says which file is missing, and makes none."""
    said = follow(followed, code=1)

    assert "not_found" in said
    assert f"there is no store at {followed.folder / 'work.db'}" in said
    assert not (followed.folder / "work.db").exists()


def bodies(daemon: Daemon, repo: str) -> list[str]:
    page = daemon.client.call("history", target_repo=repo, include_body=True)
    return [one["body"] for one in page["messages"]]


def test_events_wake_once(followed: Daemon) -> None:
    """Tasks that become claimable wake by queue, answers by kind; starting again, also with a forgotten
    place, wakes nobody twice.
    """
    with tessera.open(str(followed.folder / "work.db")) as store:
        store.define_queue("review", heartbeat_seconds=1)
        store.define_queue("other")
        store.enqueue(queue="review", kind="quick", brief={}, task_id="t1")
        store.enqueue(queue="other", kind="quick", brief={}, task_id="t2")
        follow(followed, "--from-start")
        assert bodies(followed, "api") == ["t1 of review is enqueued (3)"]
        store.enqueue(queue="review", kind="deep", brief={}, task_id="t3")
        for lease in [store.claim("review", "w") for _ in range(2)]:
            store.park(lease.task_id, lease.fencing_token, "need a word")
        for task_id in ("t1", "t3"):
            store.resume(task_id, {"yes": True})
    follow(followed)
    events = [body.split(" (")[0] for body in bodies(followed, "api")]
    assert events == [
        "t1 of review is enqueued", "t3 of review is enqueued", "t1 of review is resumed",
        "t3 of review is resumed",
    ]  # fmt: skip
    assert bodies(followed, "web") == ["Task t3 on queue review: resumed."]
    follow(followed)
    (place,) = (followed.folder / "state").glob("bridge-*.json")
    place.unlink()
    follow(followed, "--from-start")
    assert followed.client.call("history")["high_water"] == 5


def test_a_new_bridge_begins_now(followed: Daemon) -> None:
    """Without --from-start what happened before the first start wakes nobody."""
    with tessera.open(str(followed.folder / "work.db")) as store:
        store.define_queue("review")
        store.enqueue(queue="review", kind="quick", brief={})
        follow(followed)
        assert bodies(followed, "api") == []
        store.enqueue(queue="review", kind="quick", brief={}, task_id="later")
    follow(followed)
    assert len(bodies(followed, "api")) == 1


def test_wakes_wait_for_an_endpoint(followed: Daemon) -> None:
    """A wake that nobody can take now is sent as soon as somebody can; others are not held up by it."""
    for one in followed.client.call("endpoints", repo="web")["endpoints"]:
        followed.client.call("detach", endpoint_id=one["endpoint_id"])
    with tessera.open(str(followed.folder / "work.db")) as store:
        store.define_queue("review")
        store.enqueue(queue="review", kind="deep", brief={}, task_id="t1")
        lease = store.claim("review", "w")
        store.park(lease.task_id, lease.fencing_token, "need a word")
        store.resume("t1", {})
    follow(followed, "--from-start")
    assert (len(bodies(followed, "api")), len(bodies(followed, "web"))) == (2, 0)
    followed.register("file", {"path": str(followed.folder / "web.txt")}, name="w2", repos=["web"])
    follow(followed)
    assert (len(bodies(followed, "api")), len(bodies(followed, "web"))) == (2, 1)


def test_a_death_before_the_place_is_kept(followed: Daemon) -> None:
    """A bridge that dies between its wakes and its place wakes nobody twice."""
    with tessera.open(str(followed.folder / "work.db")) as store:
        store.define_queue("review")
        store.enqueue(queue="review", kind="quick", brief={})
        arguments = (
            followed.client, load_rules(followed.folder / "rules.toml"), store.events,
            lambda task_id: store.task(task_id).kind, followed.folder / "state",
        )  # fmt: skip
        first = Bridge(*arguments)
        first.begin(at_start=True)
        kept = next((followed.folder / "state").glob("bridge-*.json"))
        before = kept.read_bytes()
        first.step()
        kept.write_bytes(before)
        Bridge(*arguments).step()
    assert len(bodies(followed, "api")) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "rule"),
        ("[[rule]]\nname = 'a'", "wake"),
        ("[[rule]]\nname = 'a'\nwake = 'api'\nlater = 1", "later"),
        ("[[rule]]\nname = 'a'\nwake = 'api'\ntext = '{secret}'", "secret"),
        ("[[rule]]\nname = 'A b'\nwake = 'api'", "name"),
        ("[[rule]]\nname = 'a'\nwake = 'api'\n[[rule]]\nname = 'a'\nwake = 'web'", "one name"),
        ("not toml", "toml"),
    ],
)
def test_rules_that_are_refused(folder: Path, text: str, says: str) -> None:
    """A rules file with something missing, unknown, doubled or misspelt is refused and says what."""
    path = folder / "rules.toml"
    path.write_text(text)
    with pytest.raises(InvalidRequest) as refused:
        load_rules(path)
    assert says in refused.value.detail
    with pytest.raises(InvalidRequest):
        load_rules(folder / "none.toml")
