"""split: everything it refuses, whole: no child is made when one is refused. (Specification §5.2, §9.)"""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, refused_after_lapse

from tessera.models import Lease
from tessera.names import PATH_WORDS

MIB = 1 << 20
FINE = {"brief": {}}


@pytest.fixture
def lease(bench: Bench) -> Lease:
    """A live lease under the first token."""
    return bench.leased(task_id="p", effect_class="write-internal")


def test_how_many_children(bench: Bench, lease: Lease) -> None:
    """None and a hundred and one are refused."""
    for children in ([], [FINE] * 101, None, {}, "children"):
        refused(bench, "invalid_request", bench.store.split, "p", 1, children)


BAD_CHILDREN: list[Any] = [
    {}, None, [], "x", {"brief": None}, {"brief": []}, {"brief": "{}"}, {"brief": {"n": float("nan")}},
    {"brief": {"n": 2**53}}, {**FINE, "depends_on": ["p"]}, {**FINE, "delay_seconds": 1},
    {**FINE, "spare": 1}, {**FINE, "priority": 1_001}, {**FINE, "priority": -1_001},
    {**FINE, "priority": 1.5},
    {**FINE, "kind": "K"}, {**FINE, "kind": ""}, {**FINE, "kind": "k\n"}, {**FINE, "queue": "q\n"},
    {**FINE, "queue": "*"}, {**FINE, "effect_class": "all"}, {**FINE, "effect_class": "READ"},
    {**FINE, "task_id": ""}, {**FINE, "task_id": "a" * 129}, {**FINE, "task_id": "é"},
    {**FINE, "task_id": "a\n"}, *({**FINE, "task_id": word} for word in PATH_WORDS.split("|")),
    {**FINE, "after": None}, {**FINE, "after": "0"}, {**FINE, "after": [0.0]}, {**FINE, "after": [None]},
    {**FINE, "after": [False]},
]  # fmt: skip


def test_a_bad_child_refuses_the_whole_split(bench: Bench, lease: Lease) -> None:
    """One child that breaks a rule, between two that do not, and nothing is made."""
    for child in BAD_CHILDREN:
        refused(bench, "invalid_request", bench.store.split, "p", 1, [FINE, child, FINE])


NOT_EARLIER: list[Any] = [(0, 0), (0, 1), (1, 1), (1, 2), (1, -1), (2, 100), (1, 2**63)]


def test_after_names_earlier_children_only(bench: Bench, lease: Lease) -> None:
    """Itself, a later child, a negative index and one beyond the list are refused, with the path."""
    for index, after in NOT_EARLIER:
        children: list[dict[str, Any]] = [dict(FINE), dict(FINE), dict(FINE)]
        children[index]["after"] = [after]
        refusal = refused(bench, "invalid_request", bench.store.split, "p", 1, children)
        assert f"children[{index}]" in refusal.detail or "Integer" in refusal.detail


def test_how_many_a_child_may_be_after(bench: Bench, lease: Lease) -> None:
    """`after` lists at most a hundred indexes, repeated ones included."""
    refused(bench, "invalid_request", bench.store.split, "p", 1, [FINE, {**FINE, "after": [0] * 101}])
    assert len(bench.store.split("p", 1, [FINE, {**FINE, "after": [0] * 100}])) == 2


@pytest.mark.parametrize("character", ["x", "€"])
def test_the_size_of_a_childs_brief(bench: Bench, lease: Lease, character: str) -> None:
    """Each child's brief has at most 1 MiB of canonical bytes."""
    room = MIB - len('{"b":""}')
    width = len(character.encode())
    text = character * (room // width) + "x" * (room % width)
    refusal = refused(
        bench, "invalid_request", bench.store.split, "p", 1, [FINE, {"brief": {"b": text + "x"}}]
    )
    assert refusal.detail.startswith("children[1].brief")
    bench.store.split("p", 1, [FINE, {"brief": {"b": text}}])


def test_ids_in_use(bench: Bench, lease: Lease) -> None:
    """An id that exists, in any queue, or that two children share refuses the whole split."""
    bench.queue("other")
    bench.enqueue("other", task_id="far")
    bench.store.cancel(bench.enqueue(task_id="over"), "r")
    for taken in ("p", "far", "over"):
        refusal = refused(bench, "invalid_request", bench.store.split, "p", 1, [{**FINE, "task_id": taken}])
        assert taken not in refusal.detail.split()
    twice = [{**FINE, "task_id": "twin"}, {**FINE, "task_id": "twin"}]
    refused(bench, "invalid_request", bench.store.split, "p", 1, twice)


def test_the_fifth_generation(bench: Bench, lease: Lease) -> None:
    """Nesting stops at four levels below the root."""
    for _ in range(4):
        (child,) = bench.store.split(lease.task_id, lease.fencing_token, [FINE])
        lease = bench.claim()
        assert lease.task_id == child
    refused(bench, "invalid_request", bench.store.split, lease.task_id, 1, [FINE])


def test_ten_thousand_unfinished_descendants(bench: Bench) -> None:
    """A root may have 10,000 unfinished descendants, not one more; those that have ended do not count."""
    bench.queue("big", lease_seconds=3_600, heartbeat_seconds=600)
    bench.leased("big", task_id="root", kind="root")
    bench.store.split("root", 1, [{**FINE, "kind": "middle"}] * 100)
    for _ in range(99):
        middle = bench.claim("big", kinds=["middle"])
        bench.store.split(middle.task_id, 1, [{**FINE, "kind": "leaf"}] * 100)
    last = bench.claim("big", kinds=["middle"])
    refused(bench, "invalid_request", bench.store.split, last.task_id, 1, [FINE])
    leaf = bench.claim("big", kinds=["leaf"])
    refused(bench, "invalid_request", bench.store.split, leaf.task_id, 1, [FINE])
    bench.ok(leaf)
    refused(bench, "invalid_request", bench.store.split, last.task_id, 1, [FINE] * 2)
    assert len(bench.store.split(last.task_id, 1, [FINE])) == 1
    bench.store.cancel("root", "tidy up")
    assert (bench.counts("big").cancelled, bench.counts("big").done) == (10_001, 1)


def test_an_unknown_task_or_queue(bench: Bench, lease: Lease) -> None:
    """The task must exist, and so must each queue that a child names."""
    refused(bench, "not_found", bench.store.split, "none", 1, [FINE])
    refused(bench, "not_found", bench.store.split, "p", 1, [FINE, {**FINE, "queue": "none"}])


def test_outside_the_grant(bench: Bench) -> None:
    """A key reaches no queue and no kind by splitting that it does not cover itself."""
    bench.queue("other")
    bench.enqueue(task_id="t")
    key = bench.key(queues=["q"], kinds=["k"])
    key.claim("q", "w")
    refused(bench, "forbidden", key.split, "t", 1, [FINE, {**FINE, "queue": "other"}])
    refused(bench, "forbidden", key.split, "t", 1, [FINE, {**FINE, "kind": "x"}])
    refused(bench, "forbidden", bench.key(queues=["other"]).split, "t", 1, [FINE])
    refused(bench, "forbidden", bench.key(kinds=["x"]).split, "t", 1, [FINE])


def test_splitting_never_widens(bench: Bench, lease: Lease) -> None:
    """A child broader than its parent is refused, for the owner as for any key."""
    for broader in ("write-repo", "public"):
        refused(bench, "scope_denied", bench.store.split, "p", 1, [FINE, {**FINE, "effect_class": broader}])
    assert len(bench.store.split("p", 1, [{**FINE, "effect_class": "read"}, FINE])) == 2


def test_a_key_hands_on_only_what_it_holds(bench: Bench) -> None:
    """A narrower child still needs its effect class on the key; admin does not stand in for it."""
    bench.enqueue(task_id="t", effect_class="write-internal")
    key = bench.key(scopes=["admin"], effect_classes=["write-internal"])
    key.claim("q", "w")
    refused(bench, "scope_denied", key.split, "t", 1, [{**FINE, "effect_class": "read"}])
    assert len(key.split("t", 1, [FINE])) == 1


def test_a_key_that_claimed_broad_work_splits_it(bench: Bench) -> None:
    """Children of a broad task need the class on the key, not the admin scope: the work was started."""
    bench.enqueue(task_id="t", effect_class="write-repo")
    key = bench.key(effect_classes=["write-repo"])
    key.claim("q", "w")
    assert len(key.split("t", 1, [FINE])) == 1


def test_another_keys_lease(bench: Bench, lease: Lease) -> None:
    """Only the key that claimed splits."""
    key = bench.key(scopes=["admin"], effect_classes=["read", "write-internal"])
    refused(bench, "scope_denied", key.split, "p", 1, [FINE])


def test_a_lease_that_is_not_live(bench: Bench, lease: Lease) -> None:
    """A guessed, a lapsed and an ended lease split nothing."""
    refused(bench, "stale_lease", bench.store.split, "p", 2, [FINE])
    bench.world.pass_seconds(LAPSE)
    refused_after_lapse(bench, "stale_lease", bench.store.split, "p", 1, [FINE])
    refused(bench, "stale_lease", bench.store.split, "p", 1, [FINE])
    bench.claim()
    bench.store.split("p", 2, [FINE])
    refused(bench, "stale_lease", bench.store.split, "p", 2, [FINE])


@pytest.mark.parametrize("task_id", ["none", "p"])
def test_a_bad_body_comes_first(bench: Bench, lease: Lease, task_id: str) -> None:
    """What is wrong with the request itself is told before what is wrong with the lease."""
    for bad in ({"brief": []}, {**FINE, "after": [0]}):
        refused(bench, "invalid_request", bench.store.split, task_id, 9, [bad])
    refused(bench, "invalid_request", bench.store.split, task_id, 9, [{**FINE, "task_id": "x"}] * 2)
