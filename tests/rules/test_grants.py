"""What a key may do: every rule with its two sides, and which refusal it is. (Contract §4.1.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tessera.errors import Forbidden, ScopeDenied, TesseraError, Unauthorized
from tessera.models import ApprovalBody, Claim
from tessera.names import EFFECT_CLASSES, EFFECT_RANK
from tessera.rules import grants
from tessera.rules.grants import OWNER, Caller

READ, INTERNAL, REPO, PUBLIC = range(4)
PLAIN = Caller("k_1", frozenset({"q"}), frozenset({"k"}), frozenset({READ}), frozenset())
ADMIN = Caller("k_2", frozenset({"q"}), frozenset({"k"}), frozenset({READ}), frozenset({"admin"}))
WIDE = Caller("k_3", None, None, frozenset({READ, INTERNAL, REPO, PUBLIC}), frozenset())
CHIEF = Caller("k_4", None, None, frozenset({READ, INTERNAL, REPO, PUBLIC}), frozenset({"admin"}))


def verdict(rule: Callable[..., Any], *args: Any) -> type[TesseraError] | None:
    """What the rule refuses with, or None."""
    try:
        rule(*args)
    except TesseraError as refusal:
        return type(refusal)
    return None


def test_the_effect_classes_rank_as_specified() -> None:
    """From the narrowest to the broadest: read, write-internal, write-repo, public."""
    assert [EFFECT_CLASSES[rank] for rank in (READ, INTERNAL, REPO, PUBLIC)] == [
        "read", "write-internal", "write-repo", "public",
    ]  # fmt: skip
    assert {name: rank for rank, name in enumerate(EFFECT_CLASSES)} == EFFECT_RANK


def test_who_a_grant_makes() -> None:
    """`*` becomes everything, names become sets, and the owner has no key."""
    grant = ApprovalBody(queues=["a", "*"], kinds=["k"], effect_classes=["read", "public"], scopes=["admin"])
    caller = grants.caller_of("k_9", grant)
    assert caller == Caller("k_9", None, frozenset({"k"}), frozenset({READ, PUBLIC}), frozenset({"admin"}))
    assert caller.admin
    assert (OWNER.key_id, OWNER.queues, OWNER.kinds, OWNER.effects, OWNER.admin) == (
        None, None, None, None, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("caller", "queue", "kind", "expected"),
    [
        (PLAIN, "q", "k", None), (PLAIN, "q", "x", Forbidden), (PLAIN, "r", "k", Forbidden),
        (ADMIN, "r", "k", Forbidden), (ADMIN, "q", "x", Forbidden), (WIDE, "r", "x", None),
        (OWNER, "r", "x", None), (PLAIN, "*", "k", Forbidden), (PLAIN, "Q", "k", Forbidden),
    ],
)  # fmt: skip
def test_queues_and_kinds(caller: Caller, queue: str, kind: str, expected: type[TesseraError] | None) -> None:
    """Outside the grant is forbidden; admin grants no queues, and a name must match exactly."""
    assert verdict(grants.covers_task, caller, queue, kind) is expected
    assert grants.sees_queue(caller, queue) is (verdict(grants.covers_queue, caller, queue) is None)


@pytest.mark.parametrize("effect", [READ, INTERNAL, REPO, PUBLIC])
@pytest.mark.parametrize("caller", [PLAIN, ADMIN, WIDE, CHIEF, OWNER])
def test_effect_classes(caller: Caller, effect: int) -> None:
    """Holding a class needs it on the key; starting broad work needs the admin scope besides."""
    holds = caller in (WIDE, CHIEF, OWNER) or effect == READ
    assert verdict(grants.holds_effect, caller, effect) is (None if holds else ScopeDenied)
    starts = holds and (effect in (READ, INTERNAL) or caller.admin)
    assert verdict(grants.may_start, caller, effect) is (None if starts else ScopeDenied)


def test_admins_and_the_owner() -> None:
    """What operators do needs the scope; what only the owner does needs no key at all."""
    assert [verdict(grants.is_admin, one) for one in (PLAIN, WIDE, ADMIN, CHIEF, OWNER)] == [
        ScopeDenied, ScopeDenied, None, None, None,
    ]  # fmt: skip
    assert [verdict(grants.is_owner, one) for one in (PLAIN, CHIEF, OWNER)] == [
        ScopeDenied, ScopeDenied, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("expires", "revoked", "now", "expected"),
    [
        (10, None, 9, None), (10, None, 10, Unauthorized), (10, None, 11, Unauthorized),
        (10, 0, 5, Unauthorized), (10, 9, 5, Unauthorized), (10, 20, 15, Unauthorized),
    ],
)  # fmt: skip
def test_whether_a_key_counts(
    expires: int, revoked: int | None, now: int, expected: type[TesseraError] | None
) -> None:
    """A key counts until the instant it expires at, and not at all once it is revoked."""
    assert verdict(grants.stands, expires, revoked, now) is expected


@pytest.mark.parametrize(
    ("caller", "kinds", "effects", "expected"),
    [
        (OWNER, None, None, (None, None)),
        (OWNER, ["b", "a", "b"], ["public", "read"], (["a", "b"], [READ, PUBLIC])),
        (PLAIN, None, None, (["k"], [READ])),
        (PLAIN, ["k"], ["read"], (["k"], [READ])),
        (PLAIN, [], [], ([], [])),
        (WIDE, None, None, (None, [READ, INTERNAL, REPO, PUBLIC])),
        (WIDE, ["x"], None, (["x"], [READ, INTERNAL, REPO, PUBLIC])),
        (PLAIN, ["k", "x"], None, Forbidden),
        (PLAIN, None, ["read", "public"], ScopeDenied),
        (ADMIN, None, ["public"], ScopeDenied),
        (PLAIN, ["x"], ["public"], Forbidden),
    ],
)
def test_what_a_claim_may_draw_from(
    caller: Caller, kinds: list[str] | None, effects: list[Any] | None, expected: Any
) -> None:
    """Without a filter a claim draws from the whole grant; a filter narrows it and never widens it."""
    ask = Claim(queue="q", worker="w", kinds=kinds, effect_classes=effects)
    if isinstance(expected, tuple):
        assert grants.may_claim(caller, ask) == expected
    else:
        assert verdict(grants.may_claim, caller, ask) is expected


@pytest.mark.parametrize(
    ("caller", "parked_by", "expected"),
    [
        (PLAIN, "k_1", Forbidden), (PLAIN, "k_2", None), (PLAIN, None, None), (ADMIN, "k_2", None),
        (OWNER, None, None), (OWNER, "k_1", None),
    ],
)  # fmt: skip
def test_who_may_resume(caller: Caller, parked_by: str | None, expected: type[TesseraError] | None) -> None:
    """Anyone but the key that parked; an admin key even then."""
    assert verdict(grants.may_resume, caller, parked_by) is expected


@pytest.mark.parametrize(
    ("caller", "key_id", "expected"),
    [
        (PLAIN, "k_1", None), (PLAIN, "k_2", ScopeDenied), (PLAIN, None, ScopeDenied),
        (CHIEF, "k_1", ScopeDenied), (OWNER, "k_1", None), (OWNER, None, None),
    ],
)  # fmt: skip
def test_whose_lease_it_is(caller: Caller, key_id: str | None, expected: type[TesseraError] | None) -> None:
    """The key that claimed, and the owner; no other key, though it be admin."""
    assert verdict(grants.owns_lease, caller, key_id) is expected
