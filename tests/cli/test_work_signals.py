"""`tessera work` as a process: signals, lost leases, commands that go on after handing back."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

WORK = ("work", "q", "--worker", "w1", "--poll", "0.01")
TESSERA = f"{shlex.quote(sys.executable)} -m tessera.cli.main"
END_SECONDS = 20


def end(process: subprocess.Popen[str]) -> str:
    """Wait for a good end; what the process said on stderr."""
    _, said = process.communicate(timeout=END_SECONDS)
    assert process.returncode == 0, said
    return said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_releases_what_runs(cli, store, enqueue, pipe, number) -> None:
    """SIGTERM and Ctrl-C end the command, release its lease without a failure, and exit 0."""
    task_id = enqueue()
    with cli.process(*WORK, "--", "sh", "-c", f"exec 3>{pipe.path}; echo on >&3; sleep 60") as worker:
        assert pipe.line() == "on"
        worker.send_signal(number)
        said = end(worker)

    pipe.wait_for_end()
    task = store.task(task_id)
    assert (task.state, task.failures, task.attempts) == ("ready", 0, 1)
    assert said.startswith(f"released: {task_id} ")


def test_a_killed_worker_takes_its_commands_along(cli, enqueue, pipe, tmp_path) -> None:
    """SIGKILL of the worker ends the whole group of each command: none of it goes on to write. The next
    worker removes the files that were theirs.
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    cli.env["TMPDIR"] = str(temporary)
    tasks = {enqueue(), enqueue()}
    written = tmp_path / "written"
    later = f"exec 3>{pipe.path}; trap '' TERM; (sleep 15; echo 1 > {written}) & echo on >&3; wait"
    with cli.process(*WORK, "--parallel", "2", "--", "sh", "-c", later) as worker:
        assert [pipe.line(), pipe.line()] == ["on", "on"]
        with cli.process("events", "--follow", "--json") as log:
            while tasks:  # a heartbeat shows that the worker is past the start of its command
                event = json.loads(log.stdout.readline())
                if event["type"] == "heartbeat":
                    tasks.discard(event["task_id"])
        worker.kill()
        worker.wait(END_SECONDS)

    pipe.wait_for_end()
    assert not written.exists()
    assert len(list(temporary.iterdir())) == 2
    cli("queues", "define", "idle")
    with cli.process("work", "idle", "--worker", "w2", "--drain", "--", "true") as worker:
        end(worker)
    assert list(temporary.iterdir()) == []


def test_a_signal_wakes_an_idle_worker(cli, enqueue) -> None:
    """A worker that waits for its next claim ends at once."""
    enqueue()
    with cli.process("work", "q", "--worker", "w1", "--poll", "600", "--", "true") as worker:
        assert worker.stderr.readline().startswith("done: ")
        worker.terminate()
        end(worker)


def test_a_second_signal_kills_what_runs(cli, store, enqueue, pipe) -> None:
    """A command that ignores SIGTERM is killed by the second signal, without its grace, and released."""
    task_id = enqueue()
    stay = f"trap '' TERM; exec 3>{pipe.path}; echo on >&3; while :; do sleep 60; done"
    with cli.process(*WORK, "--", "sh", "-c", stay) as worker:
        assert pipe.line() == "on"
        worker.send_signal(signal.SIGTERM)
        worker.send_signal(signal.SIGINT)
        said = end(worker)

    pipe.wait_for_end()
    assert said.startswith(f"released: {task_id} ")
    assert store.task(task_id).failures == 0


def test_a_signal_leaves_no_command_of_any_slot(cli, store, enqueue, pipe) -> None:
    """With several slots every command ends and every lease is released."""
    tasks = [enqueue() for _ in range(3)]
    with cli.process(
        *WORK, "--parallel", "3", "--", "sh", "-c", f"exec 3>{pipe.path}; echo on >&3; sleep 60"
    ) as worker:
        assert [pipe.line() for _ in tasks] == ["on"] * 3
        worker.terminate()
        said = end(worker)

    pipe.wait_for_end()
    assert said.count("released: ") == 3
    assert [store.task(task_id).state for task_id in tasks] == ["ready"] * 3


def test_a_lost_lease_ends_the_command(cli, store, enqueue, pipe) -> None:
    """When somebody cancels the task, its command is terminated and the worker goes on with the next."""
    lost = enqueue(brief={"wait": True})
    carry = f'read brief; case "$brief" in *true*) exec 3>{pipe.path}; echo on >&3; sleep 60;; esac'
    with cli.process(*WORK, "--drain", "--", "sh", "-c", carry) as worker:
        assert pipe.line() == "on"
        following = enqueue()
        store.cancel(lost, "no longer needed")
        said = end(worker).splitlines()

    pipe.wait_for_end()
    assert said[0].startswith(f"lost: {lost} ")
    assert said[1].startswith(f"done: {following} ")
    assert (store.results(lost), store.task(following).state) == ([], "done")


def test_heartbeats_keep_a_long_command_s_lease(cli, store, enqueue, tmp_path) -> None:
    """A command may run for longer than a lease lives without heartbeats."""
    store.define_queue("q", miss_limit=1)
    task_id = enqueue()
    heartbeats = 3  # at half a second each: past the one second that the lease would live
    go = tmp_path / "go"
    os.mkfifo(go)
    with cli.process(*WORK, "--once", "--", "cat", str(go)) as worker:
        with cli.process("events", "--follow", "--json") as log:
            while heartbeats:
                heartbeats -= '"heartbeat"' in log.stdout.readline()
        assert store.claim("q", "thief") is None
        go.write_text("1")
        said = end(worker)

    assert said.startswith(f"done: {task_id} ")


def test_a_command_may_finish_after_handing_back(cli, store, enqueue, pipe) -> None:
    """A command that parked its task is not killed for it, however long it goes on."""
    task_id = enqueue()
    park = f'{TESSERA} park "$TESSERA_TASK_ID" "$TESSERA_FENCING_TOKEN" why > /dev/null'
    go_on = f"sleep 1; echo end > {pipe.path}"  # past the next heartbeat, whose refusal nobody else can see
    with cli.process(*WORK, "--once", "--", "sh", "-c", f"{park}; {go_on}") as worker:
        assert pipe.line() == "end"
        said = end(worker)

    assert said.startswith(f"handed back by the command: {task_id} ")
    assert store.task(task_id).parks == 1
