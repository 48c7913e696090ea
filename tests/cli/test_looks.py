"""`counts`, `health`, `events`, `reap`, and how answers look."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from tessera import models
from tessera.cli.show import view


def test_counts(cli, enqueue) -> None:
    """Counts are the wire's model, and a table for people."""
    enqueue()

    assert cli.json("counts")["queues"]["q"]["ready"] == 1
    assert cli("counts").stdout.split() == [
        "queue", "ready", "leased", "waiting", "done", "dead", "cancelled", "q", "1", "0", "0", "0", "0", "0",
    ]  # fmt: skip


def test_recount_that_agrees(cli, enqueue) -> None:
    """A recount that agrees exits 0 and says so."""
    enqueue()

    assert cli.json("counts", "--recount")["agree"] is True
    assert "The recount agrees." in cli("counts", "--recount").stdout


def test_recount_that_disagrees(cli, store, url, enqueue) -> None:
    """A recount that disagrees exits 1, in words and in JSON, and shows both rows."""
    enqueue()
    _spoil(url, "ready = 5")
    assert cli.json("counts", "--recount", code=1)["agree"] is False
    text = cli("counts", "--recount", code=1).stdout
    _spoil(url, "ready = 1")

    assert "The recount DISAGREES." in text
    assert "q (recounted)" in text


def _spoil(url: str, what: str) -> None:
    """Change the counts behind the store's back."""
    code = f"import apsw, sys; apsw.Connection(sys.argv[1]).execute('update counts set {what}')"
    subprocess.run([sys.executable, "-c", code, url], check=True)


def test_health(cli, enqueue) -> None:
    """Health exits 0 and tells the queue's state and the reaper's last run."""
    enqueue()
    assert cli("health").stdout.startswith("The store answers.\n")
    assert "last reaped never" in cli("health").stdout

    cli("reap")

    health = cli.json("health")
    assert (health["db_ok"], health["queues"]["q"]["ready"]) == (True, 1)
    assert health["reaper_last_run"] is not None


def test_reap(cli) -> None:
    """Reaping tells how much was due."""
    assert cli.json("reap") == {"reaped": 0}
    assert cli("reap").stdout == "0 settled.\n"


def test_events(cli, enqueue) -> None:
    """A page of the log after a seq, in JSON and as a table."""
    task_id = enqueue()

    events = cli.json("events", "--after", "1", "--limit", "1")["events"]

    assert [(event["seq"], event["type"], event["task_id"]) for event in events] == [(2, "enqueued", task_id)]
    assert task_id in cli("events").stdout
    assert cli("events", "--after", "99").stdout == "Nothing has happened since.\n"


def test_follow(cli, enqueue) -> None:
    """`--follow` prints what was there and what comes, a JSON document a line, and Ctrl-C ends it well."""
    first = enqueue()
    with cli.process("events", "--follow", "--after", "1", "--limit", "1", "--json") as follower:
        assert json.loads(follower.stdout.readline())["task_id"] == first
        second = enqueue()
        assert json.loads(follower.stdout.readline())["task_id"] == second
        follower.send_signal(signal.SIGINT)
        assert follower.wait(timeout=20) == 0


def test_follow_for_people(cli, enqueue) -> None:
    """Without `--json` an event is one line of words."""
    task_id = enqueue()
    with cli.process("events", "--follow", "--after", "1") as follower:
        line = follower.stdout.readline()

    assert line.startswith("2  ")
    assert f"enqueued  q  {task_id}" in line


def test_text_of_a_task_cannot_drive_the_terminal(cli, store, enqueue) -> None:
    """Control, direction and markup characters of a worker or an error show as what they are."""
    task_id = enqueue(brief={"text": "[red]\u202e"})
    store.claim("q", "w\x1b[31m")
    shown = cli("tasks", "show", task_id).stdout

    assert "w\\x1b[31m" in shown
    assert "[red]\\u202e" in shown
    assert "\x1b" not in shown


def test_every_answer_has_a_view() -> None:
    """What no view knows is an error, not an empty line."""
    with pytest.raises(TypeError, match="no view for NoneType"):
        view(None)
    assert view(models.Reaped(1))


def test_lease_shows_its_children(cli, store, enqueue) -> None:
    """A parent back from a split shows what its children came to."""
    parent = enqueue()
    store.claim("q", "w")
    [child] = store.split(parent, 1, [{"brief": {}}])
    store.claim("q", "w")
    store.submit(child, 1, {"sum": 3}, "key")

    assert f'{child} done: {{"sum":3}}' in cli("claim", "q", "--worker", "w").stdout
