"""`tessera work`: what a command is given, what is handed in for it, when the loop ends."""

from __future__ import annotations

import errno
import json
import shlex
import sys
from pathlib import Path

import pytest

from tessera.cli import run
from tessera.library import Tessera
from tessera.worker import Worker

WORK = ("work", "q", "--worker", "w1", "--poll", "0.01")
TESSERA = f"{shlex.quote(sys.executable)} -m tessera.cli.main"


def test_brief_in_output_out(cli, store, enqueue) -> None:
    """The brief is the command's input, its JSON is the output, and one line says so."""
    task_id = enqueue(brief={"n": 1})

    said = cli(*WORK, "--drain", "--", "cat").stderr

    [result] = store.results(task_id)
    assert (result.ok, result.output, result.worker) == (True, {"n": 1}, "w1")
    assert result.idempotency_key == f"{task_id}:1"
    assert said.startswith(f"done: {task_id} (k, attempt 1, ")
    assert len(said.splitlines()) == 1


def test_quiet_says_nothing_about_success(cli, enqueue) -> None:
    """`--quiet` leaves out the line."""
    enqueue()

    assert cli(*WORK, "--drain", "--quiet", "--", "true").stderr == ""


def test_environment_and_lease_file(cli, store, enqueue, url) -> None:
    """The command finds its lease in the environment and, whole, in a file for its eyes only."""
    child = enqueue()
    store.claim("q", "other")
    store.submit(child, 1, {"n": 1}, "key")
    task_id = enqueue(depends_on=[child])
    show = """
import json, os, stat
path = os.environ.pop("TESSERA_LEASE_FILE")
print(json.dumps({
    "env": {name: value for name, value in os.environ.items() if name.startswith("TESSERA_")},
    "mode": oct(stat.S_IMODE(os.stat(path).st_mode)), "lease": json.load(open(path)), "path": path,
}))
"""

    cli(*WORK, "--store", "store.db", "--once", "--", sys.executable, "-c", show)

    seen = store.results(task_id)[0].output
    assert seen["env"] == {
        "TESSERA_STORE": url, "TESSERA_TASK_ID": task_id, "TESSERA_FENCING_TOKEN": "1", "TESSERA_QUEUE": "q",
        "TESSERA_KIND": "k", "TESSERA_WORKER": "w1", "TESSERA_ATTEMPT": "1",
    }  # fmt: skip
    assert seen["mode"] == "0o600"
    assert seen["lease"]["dependencies"][0]["output"] == {"n": 1}
    with pytest.raises(FileNotFoundError):
        Path(seen["path"]).stat()


def test_a_failure_is_retried(cli, store, enqueue) -> None:
    """A failing command fails its task with what it wrote to stderr; the next attempt may do better."""
    task_id = enqueue()

    said = cli(
        *WORK, "--drain", "--", "sh", "-c", 'test "$TESSERA_ATTEMPT" = 2 || { echo boom >&2; exit 3; }'
    )

    results = store.results(task_id)
    assert [(result.ok, result.error) for result in results] == [(False, "boom\n"), (True, None)]
    assert "the task is now ready; boom" in said.stderr


def test_output_that_is_no_json_fails(cli, store, enqueue) -> None:
    """Text on stdout is no output."""
    task_id = enqueue()

    cli(*WORK, "--once", "--", "echo", "hello")

    assert store.task(task_id).last_error.startswith("stdout is not one JSON document")


def test_output_over_the_limit_fails(cli, store, enqueue) -> None:
    """An output that the store refuses fails the task with the store's words."""
    task_id = enqueue()
    big = "import json; print(json.dumps('x' * (1 << 20)))"

    said = cli(*WORK, "--once", "--", sys.executable, "-c", big).stderr

    assert "the output was refused" in said
    assert store.task(task_id).last_error.startswith("the output was refused: output: more than")


def test_only_the_kinds_asked_for(cli, store, enqueue) -> None:
    """`--kind` narrows what is claimed, and `--once` ends after one task."""
    enqueue(kind="a")
    one, two = enqueue(kind="b"), enqueue(kind="b")

    cli(*WORK, "--once", "--kind", "b", "--", "true")

    assert store.task(one).state == "done"
    assert store.counts().queues["q"].ready == 2
    assert store.task(two).state == "ready"


def test_parallel_commands_run_at_once(cli, store, enqueue, pipe) -> None:
    """With `--parallel 2` two commands run at the same time: each of these waits for the other."""
    one, two = enqueue(), enqueue()
    meet = f"mkfifo {pipe.path}.2 2>/dev/null && exec cat {pipe.path}.2; echo 2 > {pipe.path}.2"

    cli(*WORK, "--parallel", "2", "--drain", "--", "sh", "-c", meet)

    outputs = [store.results(task_id)[0].output for task_id in (one, two)]
    assert sorted(outputs, key=str) == [2, None]


@pytest.mark.parametrize(
    ("act", "state"),
    [
        ('park "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN" why', "waiting"),
        (
            'split "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN" \'[{"brief": {}, "queue": "later"}]\'',
            "waiting",
        ),
        ('submit "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN" 7', "done"),
        ('submit "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN" --failed', "ready"),
        ('release "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN"', "ready"),
    ],
)
def test_a_command_that_hands_back_itself(cli, store, enqueue, act, state) -> None:
    """A command may park, split, submit or release its own lease: that is no error, and nothing is added."""
    store.define_queue("later")
    task_id = enqueue()

    said = cli(*WORK, "--once", "--", "sh", "-c", f"{TESSERA} {act} > /dev/null").stderr

    assert said.startswith(f"handed back by the command: {task_id} ")
    assert store.task(task_id).state == state
    assert [result.idempotency_key for result in store.results(task_id)] in ([], [f"{task_id}:1"])


def test_a_program_that_is_not_there_claims_nothing(cli, store, enqueue) -> None:
    """A command that cannot be found is wrong usage before anything is claimed."""
    task_id = enqueue()

    assert "no program 'absent'" in cli(*WORK, "--", "absent", code=2).stderr
    assert store.task(task_id).attempts == 0


def test_a_program_that_cannot_start_keeps_the_task_whole(cli, store, enqueue, tmp_path) -> None:
    """A command that this machine cannot run ends the worker; its lease is released without a failure."""
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    task_id = enqueue()

    failed = cli(*WORK, "--", str(broken), code=1)

    assert f"error: invalid_request: cannot run {broken}: Exec format error" in failed.stderr
    assert (store.task(task_id).state, store.task(task_id).failures) == ("ready", 0)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("echo 1\n", "does it begin with #!/bin/sh"),
        ("#!/absent\n", "is the program of its #! line installed"),
    ],
)
def test_a_script_that_cannot_start_is_told_what_to_do(cli, enqueue, tmp_path, text, hint) -> None:
    """A script without a #! line, or with one that leads nowhere, is the user's to mend, and is told how."""
    script = tmp_path / "script"
    script.write_text(text)
    script.chmod(0o755)
    enqueue()

    failed = cli(*WORK, "--", str(script), code=1)

    assert failed.stderr.splitlines()[-1].startswith(f"error: invalid_request: cannot run {script}: ")
    assert hint in failed.stderr


def test_a_machine_that_cannot_is_not_the_command_s_fault() -> None:
    """An error that does not name the program, as when no process can be made, is no invalid request."""
    refusal = run.cannot_run("true", BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"))

    assert refusal.code == "internal"


def test_a_failure_says_when_it_is_tried_again(cli, store, enqueue) -> None:
    """While a backoff runs, the line of the failure says until when."""
    store.define_queue("q", backoff_base_seconds=600, backoff_cap_seconds=600)
    task_id = enqueue()

    said = cli(*WORK, "--once", "--", "false").stderr

    assert f"the task is now ready, tried again at {store.task(task_id).not_before[11:19]} UTC; " in said


def test_an_unknown_queue_ends_the_worker(cli) -> None:
    """A refused claim ends the worker with the refusal's code."""
    refused = cli("work", "absent", "--worker", "w", "--parallel", "2", "--", "true", code=1)

    assert refused.stderr.startswith("error: not_found: ")


def test_no_command_is_wrong_usage(cli) -> None:
    """A worker needs a command, and options of the command need `--` before them."""
    cli("work", "q", "--worker", "w", code=2)
    cli("work", "q", "--worker", "w", "sh", "-c", "true", code=2)


def test_what_a_command_leaves_behind_ends_with_it(cli, store, enqueue, pipe) -> None:
    """A process that a command forgets in the background ends when the command does."""
    task_id = enqueue()

    cli(*WORK, "--once", "--", "sh", "-c", f"exec 3>{pipe.path}; sleep 60 & echo 1")

    pipe.wait_for_end()
    assert store.results(task_id)[0].output == 1


def test_an_outage_does_not_end_the_worker(store, enqueue, outage, capsys) -> None:
    """While the store cannot answer, the worker says so and claims again; a lost answer costs no attempt."""
    task_id = enqueue()
    worker = Worker("q", Tessera(outage), name="w1", listener=run.Lines(quiet=False), poll_seconds=0.01)
    worker.handles()(run.Carry(("true",), {}))
    outage.only, outage.times, outage.answers_get_lost = "claim", 1, True

    worker.run(drain=True)

    said = capsys.readouterr().err
    assert said.startswith("cannot claim now: unavailable: The store cannot answer now.\ndone: ")
    assert (store.task(task_id).state, store.task(task_id).attempts) == ("done", 1)


def test_a_lost_lease_ends_a_stubborn_command(cli, store, enqueue, pipe, monkeypatch) -> None:
    """A command that ignores SIGTERM after its lease is lost is killed when the grace is over."""
    monkeypatch.setattr(run, "GRACE_SECONDS", 0.1)
    task_id = enqueue()
    cancel = f"{TESSERA} cancel $TESSERA_TASK_ID gone > /dev/null"
    stay = f"trap '' TERM; exec 3>{pipe.path}; {cancel}; while :; do sleep 60; done"

    said = cli(*WORK, "--drain", "--", "sh", "-c", stay).stderr

    pipe.wait_for_end()
    assert said.startswith(f"lost: {task_id} ")
    assert store.results(task_id) == []


def test_json_of_a_lease_is_what_claim_prints(cli, store, enqueue) -> None:
    """The lease file holds the same model as `tessera claim --json`."""
    task_id = enqueue()
    cli(*WORK, "--once", "--", "sh", "-c", 'cat "$TESSERA_LEASE_FILE"')
    enqueue()

    assert (
        store.results(task_id)[0].output.keys()
        == json.loads(cli("claim", "q", "--worker", "w", "--json").stdout).keys()
    )
