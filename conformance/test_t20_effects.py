"""T20: splitting never widens what work may change."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.audit import audit
from conformance.bench import Bench

EFFECTS = ["read", "write-internal", "write-repo", "public"]


@pytest.mark.parametrize("parent_effect", EFFECTS)
def test_a_child_is_at_most_as_broad_as_its_parent(bench: Bench, parent_effect: str) -> None:
    """Narrower and equal children are made; a broader one refuses the whole split and the lease goes on."""
    queue = bench.queue()
    task_id = bench.enqueue(queue, effect_class=parent_effect)
    lease = bench.claim(queue)
    allowed = EFFECTS[: EFFECTS.index(parent_effect) + 1]
    for broader in EFFECTS[len(allowed) :]:
        children: list[dict[str, Any]] = [{"brief": {}}, {"brief": {}, "effect_class": broader}]
        with bench.refused("scope_denied", task_id):
            bench.client.split(task_id, lease.fencing_token, children)
    assert bench.counts(queue) == {"leased": 1}
    children = [{"brief": {}, "effect_class": effect} for effect in allowed] + [{"brief": {}}]
    made = bench.client.split(task_id, lease.fencing_token, children)
    assert [bench.task(child).effect_class for child in made] == [*allowed, parent_effect]
    audit(bench)


def test_narrowing_holds_for_every_generation(bench: Bench) -> None:
    """A grandchild cannot take back what its parent gave up, though the root had it."""
    queue = bench.queue()
    bench.enqueue(queue, effect_class="write-repo")
    root = bench.claim(queue)
    (child,) = bench.client.split(
        root.task_id, root.fencing_token, [{"brief": {}, "effect_class": "write-internal"}]
    )
    lease = bench.claim(queue)
    assert (lease.task_id, lease.effect_class) == (child, "write-internal")
    with bench.refused("scope_denied", child):
        bench.client.split(child, lease.fencing_token, [{"brief": {}, "effect_class": "write-repo"}])
    (grandchild,) = bench.client.split(child, lease.fencing_token, [{"brief": {}, "effect_class": "read"}])
    assert bench.claim(queue).effect_class == bench.task(grandchild).effect_class == "read"
    audit(bench)


def test_a_key_makes_only_children_that_it_may_have_made_itself(bench: Bench) -> None:
    """A key that holds the parent's effect class but not a narrower one cannot make children of that one."""
    queue = bench.queue()
    task_id = bench.enqueue(queue, effect_class="write-internal")
    key = bench.backend.keyed(queues=[queue], effect_classes=["write-internal"])
    lease = key.claim(queue, "keyed")
    assert lease is not None
    with bench.refused("scope_denied", task_id):
        key.split(task_id, lease.fencing_token, [{"brief": {}, "effect_class": "read"}])
    (child,) = key.split(task_id, lease.fencing_token, [{"brief": {}}])
    assert bench.task(child).effect_class == "write-internal"
    audit(bench)


def test_a_child_stays_within_its_maker_s_queues_and_kinds(bench: Bench) -> None:
    """A split reaches no queue and no kind that the key itself does not cover."""
    queue, other = bench.queue(), bench.queue()
    task_id = bench.enqueue(queue, kind="known")
    key = bench.backend.keyed(queues=[queue], kinds=["known"])
    lease = key.claim(queue, "keyed")
    assert lease is not None
    for beyond in ({"queue": other}, {"kind": "unknown"}):
        with bench.refused("forbidden", task_id):
            key.split(task_id, lease.fencing_token, [{"brief": {}, **beyond}])
    assert len(key.split(task_id, lease.fencing_token, [{"brief": {}}])) == 1
    assert bench.counts(other) == {}
    audit(bench)


@pytest.mark.parametrize("effect", ["", "READ", "write", "all", 1], ids=repr)
def test_there_are_only_four_effect_classes(bench: Bench, effect: object) -> None:
    """Anything else is refused, on a new task and on a child."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    with bench.refused("invalid_request", task_id):
        bench.client.enqueue(queue=queue, kind="work", brief={}, effect_class=effect)
    with bench.refused("invalid_request", task_id):
        bench.client.split(task_id, lease.fencing_token, [{"brief": {}, "effect_class": effect}])
    audit(bench)
