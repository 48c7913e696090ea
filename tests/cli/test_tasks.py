"""`enqueue`, `tasks`, `cancel`, `requeue`."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import suppress


def test_enqueue_prints_the_bare_id(cli) -> None:
    """Without `--json` the id stands alone, ready for a shell variable."""
    task_id = cli("enqueue", "q", "k", "{}").stdout.removesuffix("\n")

    assert cli.json("tasks", "show", task_id)["task_id"] == task_id


def test_enqueue_passes_every_option_on(cli) -> None:
    """Each field of a task has its option."""
    first = cli.json("enqueue", "q", "k", "{}")["task_id"]
    cli(
        "enqueue", "q", "k", '{"n": 1}', "--effect", "write-internal", "--priority", "-3", "--depends-on",
        first, "--task-id", "mine", "--traceparent", f"00-{'a' * 32}-{'b' * 16}-01",
    )  # fmt: skip

    task = cli.json("tasks", "show", "mine")

    assert (task["effect_class"], task["priority"], task["depends_on"]) == ("write-internal", -3, [first])
    assert (task["state"], task["wait_reason"], task["brief"]) == ("waiting", "dependencies", {"n": 1})


def test_enqueue_with_a_delay(cli) -> None:
    """A delayed task says when it may start."""
    task_id = cli.json("enqueue", "q", "k", "{}", "--delay", "60")["task_id"]

    assert cli.json("tasks", "show", task_id)["not_before"] is not None
    assert "not before" in cli("tasks", "show", task_id).stdout


def test_list_pages_and_filters(cli, enqueue) -> None:
    """Lists filter by queue, state and kind, and go on after a task."""
    one, two, three = (enqueue(kind=kind) for kind in ("a", "a", "b"))

    page = cli.json("tasks", "list", "--queue", "q", "--state", "ready", "--kind", "a", "--limit", "1")
    assert ([task["task_id"] for task in page["tasks"]], page["next"]) == ([one], one)
    rest = cli.json("tasks", "list", "--after", page["next"])
    assert ([task["task_id"] for task in rest["tasks"]], rest["next"]) == ([two, three], None)


def test_list_for_people(cli, enqueue) -> None:
    """A piped table cuts nothing, has no colour, and says how to see more."""
    first, second = enqueue(), enqueue()

    said = cli("tasks", "list", "--limit", "1")

    assert first in said.stdout
    assert second not in said.stdout
    assert said.stderr == f"More: --after {first}\n"
    assert "\x1b" not in said.output
    assert cli("tasks", "list", "--state", "dead").stdout == "No such tasks.\n"


def test_a_task_for_people_counts_in_words(cli, store, enqueue) -> None:
    """One attempt is one attempt; none and several are attempts."""
    task_id = enqueue()
    store.claim("q", "w")

    assert "1 attempt, 0 failures, 0 parks" in cli("tasks", "show", task_id).stdout


def test_unknown_task_is_refused(cli) -> None:
    """A task that does not exist is `not_found`."""
    assert cli("tasks", "show", "absent", code=1).stderr.startswith("error: not_found: ")


def test_results_show_every_submit(cli, store, enqueue) -> None:
    """Failed submits are listed with their error, successful ones with their output."""
    task_id = enqueue()
    assert cli("tasks", "results", task_id).stdout == "Nothing was submitted yet.\n"
    store.claim("q", "w")
    store.submit(task_id, 1, None, "one", ok=False, error="boom")
    store.claim("q", "w")
    store.submit(task_id, 2, {"n": 2}, "two")

    results = cli.json("tasks", "results", task_id)["results"]
    text = cli("tasks", "results", task_id).stdout

    assert [(result["ok"], result["output"], result["error"]) for result in results] == [
        (False, None, "boom"),
        (True, {"n": 2}, None),
    ]
    assert "boom" in text
    assert '{"n":2}' in text


def test_wait_exits_0_when_all_are_done(cli, store, enqueue) -> None:
    """Waiting ends once the last task is done, whoever does it."""
    one, two = enqueue(), enqueue()

    def do_both() -> None:
        for name in ("one", "two"):
            lease = store.claim("q", "w")
            assert lease is not None
            store.submit(lease.task_id, lease.fencing_token, None, name)

    worker = threading.Thread(target=do_both)
    worker.start()
    page = cli.json("tasks", "wait", one, two, "--timeout", "20")
    worker.join()

    assert [task["state"] for task in page["tasks"]] == ["done", "done"]
    assert page["next"] is None


def test_wait_exits_1_when_one_is_not_done(cli, store, enqueue) -> None:
    """A cancelled task ends the waiting, but not well."""
    task_id = enqueue()
    store.cancel(task_id, "why not")

    assert "cancelled" in cli("tasks", "wait", task_id, code=1).stdout


def test_wait_exits_1_when_the_time_is_up(cli, enqueue) -> None:
    """Waiting ends at its timeout and says how many are left."""
    late = cli("tasks", "wait", enqueue(), "--timeout", "0", code=1)

    assert late.stderr == "1 of 1 tasks had not ended after 0 s.\n"


def test_cancel_shows_the_task(cli, enqueue) -> None:
    """A cancelled task tells why; cancelling it again is refused."""
    task_id = enqueue()

    assert cli.json("cancel", task_id, "no longer needed")["cancel_reason"] == "no longer needed"
    assert "no longer needed" in cli("tasks", "show", task_id).stdout
    assert cli("cancel", task_id, "again", code=1).stderr.startswith("error: invalid_state: ")


def test_requeue_makes_a_new_task(cli, store) -> None:
    """A dead task's work comes back, once, under a new id that names the old one."""
    store.define_queue("once", max_attempts=1)
    dead = store.enqueue(queue="once", kind="k", brief={})
    store.claim("once", "w")
    store.submit(dead, 1, None, "key", ok=False, error="boom")
    assert f"tessera requeue {dead}" in cli("tasks", "show", dead).stdout

    fresh = cli("requeue", dead).stdout.strip()

    assert cli.json("tasks", "show", fresh)["requeued_from"] == dead
    assert cli.json("requeue", dead)["task_id"] == fresh
    cli("requeue", fresh, code=1)


def test_facts_have_a_frame_on_a_terminal_only(cli, url, enqueue) -> None:
    """What is known of a task comes through a pipe as lines, and on a terminal in a frame that fits it."""
    task_id = enqueue(brief={"text": "x" * 20_000})

    piped = cli("tasks", "show", task_id).stdout
    assert not set("│╭─") & set(piped)
    assert "x" * 20_000 in piped
    assert [line.split()[0] for line in piped.splitlines()[1:3]] == ["queue", "tried"]

    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "60"}
    command = [sys.executable, "-m", "tessera.cli.main", "tasks", "show", task_id, "--store", url]
    with subprocess.Popen(command, stdout=theirs, env=env) as process:
        os.close(theirs)
        framed = b""
        with suppress(OSError):  # how a terminal ends whose other side is closed
            while piece := os.read(ours, 65_536):
                framed += piece
        os.close(ours)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", framed.decode()).splitlines()
    assert process.returncode == 0
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("╭")
