"""resume: supply what a parked task waits for. (Specification §5.2; contract §4.1, §4.4.)"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import dump, refused, refused_after_lapse

VERBS = ("resume",)
MIB = 1 << 20


def test_the_whole_answer(bench: Bench) -> None:
    """The task is ready again, its park over; the answer is the task as it now is."""
    parked = bench.parked(resume_within=60)
    bench.world.pass_seconds(1)
    view = bench.store.resume(parked.task_id, {"yes": True})
    assert view == bench.store.task(parked.task_id)
    assert view == msgspec.structs.replace(
        parked, state="ready", wait_reason=None, park_reason=None, resume_at=None, updated_at=bench.now()
    )
    assert (bench.counts().ready, bench.counts().waiting) == (1, 0)
    lease = bench.claim()
    assert [(one.park, one.input, one.resumed_at) for one in lease.inputs] == [
        (1, {"yes": True}, view.updated_at)
    ]
    assert (lease.fencing_token, lease.attempts, lease.failures, lease.parks) == (2, 2, 0, 1)


def test_the_log_of_a_resume(bench: Bench) -> None:
    """One event names the task, the park and the key that resumed, and holds no input."""
    parked = bench.parked()
    key = bench.key()
    seq = bench.seq()
    key.resume(parked.task_id, {"secret": 1})
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.data) == ("resumed", "q", parked.task_id, {"park": 1})
    assert (line.worker, line.fencing_token, line.key_id) == (None, 1, bench.key_id())
    assert dump(bench.path)["task_inputs"][0][3] == bench.key_id()


@pytest.mark.parametrize("given", [None, False, 0, "", [], {}, "é\x00", {"n": 1.0}, [None, [{}]]], ids=ascii)
def test_any_json_is_an_input(bench: Bench, given: Any) -> None:
    """Null, empty and false inputs are inputs, kept exactly."""
    bench.store.resume(bench.parked().task_id, given)
    assert [one.input for one in bench.claim().inputs] == [given]


def test_a_resume_may_name_the_park(bench: Bench) -> None:
    """A resume that names another park than the current one is refused and stores nothing."""
    task_id = bench.parked().task_id
    for park in (2, 9):
        refused(bench, "invalid_state", bench.store.resume, task_id, "early", park)
    bench.store.resume(task_id, "first", 1)
    bench.store.park(task_id, bench.claim().fencing_token, "again")
    for park in (1, 3):
        refused(bench, "invalid_state", bench.store.resume, task_id, "late", park)
    bench.store.resume(task_id, "second", 2)
    assert [one.input for one in bench.claim().inputs] == ["first", "second"]


@pytest.mark.parametrize("park", [0, -1, 1.5, "1", True, 2**53])
def test_what_is_no_park(bench: Bench, park: Any) -> None:
    """A park's number is an integer from 1 to 2^53 - 1."""
    refused(bench, "invalid_request", bench.store.resume, bench.parked().task_id, 1, park)


def test_only_parked_tasks(bench: Bench) -> None:
    """Ready, leased, ended and otherwise waiting tasks have no park to answer; of one whose park has been
    answered that is told.
    """
    bench.queue("q", max_attempts=1)
    bench.enqueue(task_id="ready", delay_seconds=100)
    bench.enqueue(task_id="dependent", depends_on=["ready"])
    bench.ok(bench.leased(task_id="done"))
    bench.dead(task_id="dead")
    bench.store.cancel(bench.enqueue(task_id="cancelled"), "r")
    split = bench.leased(task_id="parent")
    bench.store.split("parent", split.fencing_token, [{"brief": {}, "task_id": "leased"}])
    bench.claim()
    for task_id in ("ready", "dependent", "done", "dead", "cancelled", "parent", "leased"):
        told = refused(bench, "invalid_state", bench.store.resume, task_id, 1)
        assert told.detail == "the task is not parked"
    resumed = bench.parked().task_id
    bench.store.resume(resumed, 1)
    told = refused(bench, "invalid_state", bench.store.resume, resumed, 2)
    assert told.detail == "the task is not parked: its park 1 has an input, and it was resumed already"


def test_a_park_whose_time_is_up(bench: Bench) -> None:
    """At the instant a park's time is up it is settled with the input that says so; a resume is too late."""
    task_id = bench.parked(resume_within=5).task_id
    early = bench.parked(resume_within=5).task_id
    bench.world.pass_seconds(4.999999)
    bench.store.resume(early, "in time")
    bench.world.pass_seconds(0.000001)
    refused_after_lapse(bench, "invalid_state", bench.store.resume, task_id, "late")
    assert [one.input for one in bench.claim().inputs] == [{"timed_out": True}]
    assert [one.input for one in bench.claim().inputs] == ["in time"]


def test_the_key_that_parked_may_not_resume(bench: Bench) -> None:
    """Outside input comes from someone else; an admin key and the owner may answer their own park."""
    worker, other = bench.key(), bench.key()
    admin = bench.key(scopes=["admin"])
    for who, answers in ((worker, other), (admin, admin), (bench.store, bench.store)):
        task_id = bench.enqueue()
        lease = who.claim("q", "w")
        assert lease is not None
        who.park(task_id, lease.fencing_token, "r")
        if who is worker:
            refused(bench, "forbidden", worker.resume, task_id, 1)
        assert answers.resume(task_id, 1).state == "ready"
        bench.claim()


def test_a_later_park_is_somebody_elses(bench: Bench) -> None:
    """What counts is who parked last: an earlier parker may answer another key's park."""
    first, second = bench.key(), bench.key()
    task_id = bench.enqueue()
    for key in (first, second):
        lease = key.claim("q", "w")
        assert lease is not None
        key.park(task_id, lease.fencing_token, "r")
        if key is first:
            second.resume(task_id, 1)
    refused(bench, "forbidden", second.resume, task_id, 2)
    first.resume(task_id, 2)


def test_outside_the_grant(bench: Bench) -> None:
    """A key needs the task's queue and its kind."""
    task_id = bench.parked().task_id
    refused(bench, "forbidden", bench.key(queues=["other"]).resume, task_id, 1)
    refused(bench, "forbidden", bench.key(kinds=["x"], scopes=["admin"]).resume, task_id, 1)


def test_effect_classes_and_admin(bench: Bench) -> None:
    """Resuming starts work again: it needs the effect class, and for broad ones the admin scope too."""
    narrow = bench.parked(effect_class="write-internal").task_id
    broad = bench.parked(effect_class="write-repo").task_id
    writer = bench.key(effect_classes=["read", "write-internal", "write-repo"])
    refused(bench, "scope_denied", bench.key().resume, narrow, 1)
    refused(bench, "scope_denied", bench.key(scopes=["admin"]).resume, narrow, 1)
    refused(bench, "scope_denied", writer.resume, broad, 1)
    assert writer.resume(narrow, 1).state == "ready"
    admin = bench.key(effect_classes=["write-repo"], scopes=["admin"])
    assert admin.resume(broad, 1).state == "ready"


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_the_size_of_an_input(bench: Bench, character: str) -> None:
    """An input has at most 1 MiB of canonical bytes, quotes included."""
    width = len(character.encode())
    text = character * ((MIB - 2) // width) + "x" * ((MIB - 2) % width)
    task_id = bench.parked().task_id
    refusal = refused(bench, "invalid_request", bench.store.resume, task_id, text + "x")
    assert refusal.detail.startswith("input")
    bench.store.resume(task_id, text)
    assert bench.claim().inputs[0].input == text


@pytest.mark.parametrize("given", [float("nan"), 2**53, "\ud800", b"x"], ids=ascii)
def test_an_input_that_json_cannot_say(bench: Bench, given: Any) -> None:
    """What JavaScript could not give back exactly is refused, with the path."""
    task_id = bench.parked().task_id
    refusal = refused(bench, "invalid_request", bench.store.resume, task_id, {"a": [given]})
    assert refusal.detail.startswith("input.a[0]")


def test_an_input_that_the_schema_refuses(bench: Bench) -> None:
    """An input must be what the park asked for; the refusal names the place and repeats no value."""
    schema = {
        "type": "object", "required": ["go"], "additionalProperties": False,
        "properties": {"go": {"type": "boolean"}, "items": {"items": {"maxLength": 3}}},
    }  # fmt: skip
    task_id = bench.parked(input_schema=schema).task_id
    for bad, path in (
        ("hush-hush", "input"), ({}, "input"), ({"go": "hush-hush"}, "input.go"),
        ({"go": True, "items": ["a", "hush-hush"]}, "input.items[1]"), ({"go": True, "more": 1}, "input"),
    ):  # fmt: skip
        refusal = refused(bench, "invalid_request", bench.store.resume, task_id, bad)
        assert refusal.detail.startswith(path + ":")
        assert "hush-hush" not in refusal.detail
    assert bench.store.resume(task_id, {"go": False}).state == "ready"


def test_a_schema_is_for_one_park(bench: Bench) -> None:
    """The next park asks anew, or asks for nothing."""
    task_id = bench.parked(input_schema={"type": "string"}).task_id
    bench.store.resume(task_id, "text")
    bench.store.park(task_id, bench.claim().fencing_token, "anything")
    bench.store.resume(task_id, 5)


def test_a_schema_that_allows_nothing(bench: Bench) -> None:
    """A park that no input can answer still ends when its time is up: timing out needs no permission."""
    task_id = bench.parked(input_schema=False, resume_within=5).task_id
    refused(bench, "invalid_request", bench.store.resume, task_id, {})
    bench.world.pass_seconds(5)
    assert bench.claim().inputs[0].input == {"timed_out": True}


def test_an_unknown_task(bench: Bench) -> None:
    """A task that does not exist is not found."""
    refused(bench, "not_found", bench.store.resume, "none", 1)


def test_a_resumed_task_may_lapse_like_any(bench: Bench) -> None:
    """The lease after a resume lapses, fails and counts as usual, and its input stays for the next."""
    task_id = bench.parked().task_id
    bench.store.resume(task_id, "kept")
    bench.claim()
    bench.world.pass_seconds(LAPSE)
    again = bench.claim()
    assert (again.failures, [one.input for one in again.inputs]) == (1, ["kept"])
