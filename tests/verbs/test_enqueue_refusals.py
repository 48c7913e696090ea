"""enqueue: everything it refuses, a step over each limit and a step under. (Specification §9.)"""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.names import PATH_WORDS

MIB = 1 << 20
DAYS_30 = 30 * 24 * 3_600
TASK_IDS = ["a", "Z", "0", "a" * 128, "a.b:c_d-e", "9:", "Claim", "claims", "claim:1", "t_1", "nightly:02:00"]
NO_TASK_IDS = [
    "", "a" * 129, "_a", ".a", ":a", "-a", "a b", "a/b", "a?b", "a%62", "a\n", "\na", "a\r", "a\x00", "é",
    "a\u0301", "\uff41", "\u0661", "*", "..", "a\u200b", "a#b", "claim\n",
]  # fmt: skip
NO_TRACES = [
    "", "00", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", "00-" + "a" * 32 + "-" + "b" * 16,
    "00-" + "a" * 32 + "-" + "b" * 16 + "-01\n", "00-" + "g" * 32 + "-" + "b" * 16 + "-01", 1, {},
]  # fmt: skip


def spec(**changes: Any) -> dict[str, Any]:
    """A task to enqueue, with some fields changed."""
    return {"queue": "q", "kind": "k", "brief": {}, **changes}


@pytest.mark.parametrize("task_id", TASK_IDS)
def test_task_ids(bench: Bench, task_id: str) -> None:
    """An id of the specified pattern is taken as it is."""
    assert bench.store.enqueue(spec(task_id=task_id)) == task_id == bench.claim().task_id


def test_what_is_no_task_id(bench: Bench) -> None:
    """The whole string must match, and no verb of a path may be the name of a task."""
    for task_id in [*NO_TASK_IDS, *PATH_WORDS.split("|"), 1, {}]:
        refused(bench, "invalid_request", bench.store.enqueue, spec(task_id=task_id))
        refused(bench, "invalid_request", bench.store.enqueue, spec(depends_on=[task_id]))


def brief_of(size: int, character: str) -> dict[str, str]:
    """A brief whose canonical text has exactly this many bytes."""
    room = size - len('{"b":""}')
    width = len(character.encode())
    return {"b": character * (room // width) + "x" * (room % width)}


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_the_size_of_a_brief(bench: Bench, character: str) -> None:
    """A brief has at most 1 MiB of canonical bytes, not of characters: one more byte is refused."""
    brief = brief_of(MIB, character)
    assert bench.store.task(bench.store.enqueue(spec(brief=brief))).brief == brief
    refusal = refused(bench, "invalid_request", bench.store.enqueue, spec(brief=brief_of(MIB + 1, character)))
    assert refusal.detail.startswith("brief")


def test_the_size_of_a_brief_is_that_of_its_canonical_form(bench: Bench) -> None:
    """White space and escapes that the canonical text does not have do not count."""
    loose = '{"queue":"q","kind":"k","brief":{ "b" :  "' + "\\u00e9" * (MIB // 4) + '"}}'
    bench.raw("enqueue", loose.encode())
    assert bench.store.claim("q", "w").brief == {"b": "é" * (MIB // 4)}


def test_a_brief_is_an_object(bench: Bench) -> None:
    """No other JSON is a brief."""
    for brief in [None, [], "{}", 0, 1.5, True, [{}]]:
        refused(bench, "invalid_request", bench.store.enqueue, spec(brief=brief))


UNSAYABLE: list[Any] = [
        (float("nan"), "brief.a[1]"), (float("inf"), "brief.a[1]"), (2**53, "brief.a[1]"),
        (-(2**53), "brief.a[1]"), (1e16, "brief.a[1]"), ("\ud800", "brief.a[1]"), (10**5_000, "brief.a[1]"),
        (b"bytes", "brief.a[1]"), ({1: 2}, "brief.a[1]"),
    ]  # fmt: skip


def test_a_brief_that_json_cannot_say(bench: Bench) -> None:
    """NaN, infinities, rounded integers and broken text are refused, and the refusal says where."""
    for value, path in UNSAYABLE:
        refusal = refused(bench, "invalid_request", bench.store.enqueue, spec(brief={"a": [0, value]}))
        assert path in refusal.detail


@pytest.mark.parametrize("levels", [499, 500])
def test_the_depth_of_a_brief(bench: Bench, levels: int) -> None:
    """A brief may be nested 500 levels deep and not one more."""
    inside: object = 1
    for _ in range(levels):
        inside = [inside]
    if levels == 499:
        bench.store.enqueue(spec(brief={"a": inside}))
    else:
        refused(bench, "invalid_request", bench.store.enqueue, spec(brief={"a": inside}))


@pytest.mark.parametrize(("priority", "beyond"), [(1_000, 1_001), (-1_000, -1_001)])
def test_the_bounds_of_a_priority(bench: Bench, priority: int, beyond: int) -> None:
    """A priority lies between -1000 and 1000 and is an integer."""
    assert bench.store.task(bench.store.enqueue(spec(priority=priority))).priority == priority
    for other in (beyond, 1.5, "1", True, 2**63):
        refused(bench, "invalid_request", bench.store.enqueue, spec(priority=other))


def test_the_bounds_of_a_delay(bench: Bench) -> None:
    """A delay is a number of seconds from 0 to thirty days."""
    task = bench.store.task(bench.store.enqueue(spec(delay_seconds=DAYS_30)))
    assert task.not_before == bench.after(DAYS_30)
    for beyond in (DAYS_30 + 0.001, DAYS_30 + 1, -0.001, -1, "1", None, True, float("inf"), float("nan")):
        refused(bench, "invalid_request", bench.store.enqueue, spec(delay_seconds=beyond))


def test_how_many_dependencies_a_task_may_have(bench: Bench) -> None:
    """A task depends on at most 100 tasks; a longer list is refused even where it repeats one."""
    ids = [bench.enqueue() for _ in range(101)]
    task = bench.store.task(bench.store.enqueue(spec(depends_on=ids[:100])))
    assert (task.pending_deps, task.depends_on) == (100, ids[:100])
    refused(bench, "invalid_request", bench.store.enqueue, spec(depends_on=ids))
    refused(bench, "invalid_request", bench.store.enqueue, spec(depends_on=ids[:1] * 101))


def test_what_is_no_traceparent(bench: Bench) -> None:
    """A trace context has the form of the W3C recommendation or is refused."""
    for trace in NO_TRACES:
        refused(bench, "invalid_request", bench.store.enqueue, spec(traceparent=trace))


NO_EFFECTS: list[Any] = ["", "READ", "write", "all", "*", "read\n", None, 0, ["read"]]


def test_what_is_no_effect_class(bench: Bench) -> None:
    """There are four effect classes, and what else was sent does not come back in the detail."""
    for effect in NO_EFFECTS:
        refusal = refused(bench, "invalid_request", bench.store.enqueue, spec(effect_class=effect))
        assert "'all'" not in refusal.detail


def test_an_unknown_queue(bench: Bench) -> None:
    """A queue must be defined first, for keys that would not cover it as well."""
    refused(bench, "not_found", bench.store.enqueue, spec(queue="none"))
    refused(bench, "not_found", bench.key(queues=["q"]).enqueue, spec(queue="none"))


@pytest.mark.parametrize("depends_on", [["none"], ["known", "none"], ["none", "known"], ["new"]])
def test_an_unknown_dependency(bench: Bench, depends_on: list[str]) -> None:
    """A dependency that does not exist refuses the whole task, also when it names the task itself."""
    bench.enqueue(task_id="known")
    refusal = refused(bench, "not_found", bench.store.enqueue, spec(task_id="new", depends_on=depends_on))
    assert "depends_on" in refusal.detail
    refused(bench, "not_found", bench.store.task, "new")


def test_outside_the_grant(bench: Bench) -> None:
    """Queue and kind must be the key's; so must the queue of every dependency."""
    bench.queue("other")
    far = bench.enqueue("other")
    key = bench.key(queues=["q"], kinds=["k"])
    refused(bench, "forbidden", key.enqueue, spec(queue="other"))
    refused(bench, "forbidden", key.enqueue, spec(kind="x"))
    refusal = refused(bench, "forbidden", key.enqueue, spec(depends_on=[far]))
    assert far not in refusal.detail
    assert "other" not in refusal.detail


def test_effect_classes_and_admin(bench: Bench) -> None:
    """A key needs the effect class itself, and for the broad ones the admin scope as well."""
    reader = bench.key()
    writer = bench.key(effect_classes=["read", "write-internal", "write-repo"])
    admin = bench.key(scopes=["admin"], effect_classes=["read"])
    refused(bench, "scope_denied", reader.enqueue, spec(effect_class="write-internal"))
    refused(bench, "scope_denied", writer.enqueue, spec(effect_class="write-repo"))
    refused(bench, "scope_denied", writer.enqueue, spec(effect_class="public"))
    refused(bench, "scope_denied", admin.enqueue, spec(effect_class="write-repo"))
    grant = {"effect_classes": ["public"]}
    approval = bench.store.issue_approval(**grant).approval
    public = bench.key(**grant, approval=approval)
    refused(bench, "scope_denied", public.enqueue, spec(effect_class="public"))


def test_an_id_of_another_queue(bench: Bench) -> None:
    """An id that another queue has is a conflict that tells nothing of the other task."""
    bench.queue("other")
    bench.enqueue("other", task_id="taken", brief={"secret": 1})
    for store in (bench.store, bench.key(queues=["q"])):
        refusal = refused(bench, "idempotency_conflict", store.enqueue, spec(task_id="taken"))
        assert "other" not in refusal.detail.replace("another", "")
        assert "secret" not in refusal.detail
