"""issue_key, keys, revoke_key: who may do what, and for how long. (Specification §7; contract §3, §4.)"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
import pytest
from verbs.bench import Bench
from verbs.refusals import dump, refused, unchanged

from tessera.limits import DAY_SECONDS
from tessera.models import KeyGrant

VERBS = ("issue_key", "keys", "revoke_key")
EFFECTS = ["read", "write-internal", "write-repo", "public"]


def test_a_key_with_nothing_said(bench: Bench) -> None:
    """By default a key covers every queue and kind, may read, and lasts fourteen days."""
    issued = bench.store.issue_key()
    assert issued.grant == KeyGrant(
        key_id=issued.grant.key_id, name=None, queues=["*"], kinds=["*"], effect_classes=["read"], scopes=[],
        workspace_id=None, created_at=bench.now(), expires_at=bench.after(14 * DAY_SECONDS), revoked_at=None,
    )  # fmt: skip
    assert issued.grant.key_id.startswith("k_")
    assert issued.key.startswith("tessera_")


def test_a_grant_is_kept_in_one_form(bench: Bench) -> None:
    """Names come back sorted and once each, effect classes and scopes in their order; `*` covers all."""
    grant = bench.store.issue_key(
        name="ü\x00", queues=["b", "a", "b"], kinds=["x", "*"], days=1,
        effect_classes=["write-repo", "read", "read"], scopes=["store", "admin"],
    ).grant  # fmt: skip
    assert (grant.name, grant.queues, grant.kinds) == ("ü\x00", ["a", "b"], ["*"])
    assert (grant.effect_classes, grant.scopes) == (["read", "write-repo"], ["admin", "store"])
    assert grant.expires_at == bench.after(DAY_SECONDS)


def test_the_secret_is_nowhere_but_in_the_answer(bench: Bench) -> None:
    """The store keeps a secret's hash alone: no table, list or event holds the secret."""
    issued = bench.store.issue_key(name="n")
    everything = repr(dump(bench.path)) + repr(bench.store.keys()) + repr(bench.log())
    assert issued.key not in everything
    assert issued.key.removeprefix("tessera_") not in everything
    assert dump(bench.path)["keys"][0][1] == hashlib.sha256(issued.key.encode()).hexdigest()
    assert bench.store.as_key(issued.key).queues()


def test_the_log_of_keys(bench: Bench) -> None:
    """Issuing and revoking are one event each, with the key's id and who did it; again is none."""
    admin = bench.key(scopes=["admin"])
    acting = bench.key_id()
    seq = bench.seq()
    key_id = admin.issue_key().grant.key_id
    admin.revoke_key(key_id)
    unchanged(bench, admin.revoke_key, key_id)
    assert [(line.type, line.data, line.key_id) for line in bench.log(seq)] == [
        ("key_issued", {"key_id": key_id}, acting), ("key_revoked", {"key_id": key_id}, acting),
    ]  # fmt: skip
    assert {(line.queue, line.task_id, line.worker) for line in bench.log(seq)} == {(None, None, None)}


def test_revoking(bench: Bench) -> None:
    """A revoked key counts no more from that instant; revoking again keeps the first time."""
    issued = bench.store.issue_key()
    key = bench.store.as_key(issued.key)
    bench.world.pass_seconds(1)
    revoked = bench.store.revoke_key(issued.grant.key_id)
    assert revoked == msgspec.structs.replace(issued.grant, revoked_at=bench.now())
    refused(bench, "unauthorized", key.queues)
    bench.world.pass_seconds(1)
    assert unchanged(bench, bench.store.revoke_key, issued.grant.key_id) == revoked
    assert bench.store.keys() == [revoked]


def test_a_key_may_revoke_itself(bench: Bench) -> None:
    """An admin key that revokes itself is answered, and then counts no more."""
    admin = bench.key(scopes=["admin"])
    assert admin.revoke_key(bench.key_id()).revoked_at == bench.now()
    refused(bench, "unauthorized", admin.keys)


def test_an_expired_key_may_be_revoked(bench: Bench) -> None:
    """Expiry and revocation are two things; the list shows both."""
    key_id = bench.store.issue_key(days=1).grant.key_id
    bench.world.pass_seconds(DAY_SECONDS)
    assert bench.store.revoke_key(key_id).revoked_at == bench.now()


def test_another_process_revokes(bench: Bench) -> None:
    """A key issued or revoked beside this process counts or stops here at once."""
    with bench.beside() as beside:
        issued = beside.issue_key()
        key = bench.store.as_key(issued.key)
        bench.enqueue()
        lease = key.claim("q", "w")
        assert lease is not None
        beside.revoke_key(issued.grant.key_id)
        refused(bench, "unauthorized", key.heartbeat, lease.task_id, 1)
        refused(bench, "unauthorized", key.queues)


def test_the_list_is_oldest_first(bench: Bench) -> None:
    """Every key is listed in the order it was made, without its secret."""
    grants = []
    for number in range(5):
        grants.append(bench.store.issue_key(name=str(number)).grant)
        bench.world.pass_seconds(1)
    assert unchanged(bench, bench.store.keys) == grants


KEYS: list[Any] = [
        {"days": 1}, {"days": 14}, {"name": "n" * 200}, {"name": ""}, {"queues": ["q"] * 1_000},
        {"kinds": [f"k{n}" for n in range(1_000)]}, {"effect_classes": EFFECTS[:3]}, {"scopes": ["admin"]},
        {"approval": "not needed"},
    ]  # fmt: skip


def test_what_a_key_may_be(bench: Bench) -> None:
    """Each bound itself is allowed, and an approval that nothing needs is not looked at."""
    for body in KEYS:
        assert bench.key(**body).queues()


NO_KEYS: list[Any] = [
        {"days": 0}, {"days": 15}, {"days": -1}, {"days": 1.5}, {"days": "1"}, {"days": None},
        {"name": "n" * 201}, {"name": 1}, {"queues": []}, {"queues": None}, {"queues": "q"},
        {"queues": ["q"] * 1_001}, {"queues": ["Q"]}, {"queues": ["q\n"]}, {"queues": ["*\n"]},
        {"queues": ["q*"]}, {"queues": ["**"]}, {"queues": [""]}, {"queues": [None]}, {"kinds": []},
        {"kinds": ["k"] * 1_001}, {"kinds": ["K"]}, {"kinds": ["k "]}, {"effect_classes": []},
        {"effect_classes": ["*"]}, {"effect_classes": ["all"]}, {"effect_classes": "read"},
        {"effect_classes": ["read"] * 5}, {"scopes": ["owner"]}, {"scopes": ["*"]}, {"scopes": "admin"},
        {"scopes": ["admin"] * 4}, {"scopes": None}, {"approval": ""}, {"approval": "x" * 201},
        {"approval": 1}, {"spare": 1}, {"key": "chosen"}, {"key_id": "k_1"},
    ]  # fmt: skip


def test_what_a_key_may_not_be(bench: Bench) -> None:
    """No empty grant, no unknown word, no longer life, no secret of the caller's choice."""
    for body in NO_KEYS:
        refused(bench, "invalid_request", bench.store.issue_key, **body)


def test_what_names_no_key(bench: Bench) -> None:
    """A key id is 1 to 128 characters of text."""
    for key_id in ["", "x" * 129, None, 1]:
        refused(bench, "invalid_request", bench.store.revoke_key, key_id)


def test_an_unknown_key(bench: Bench) -> None:
    """A key that does not exist, or is named by its secret, is not found."""
    secret = bench.store.issue_key().key
    refused(bench, "not_found", bench.store.revoke_key, "k_none")
    refused(bench, "not_found", bench.store.revoke_key, secret)


def test_keys_are_for_admin_keys(bench: Bench) -> None:
    """A key without the admin scope makes, lists and revokes none, not even itself."""
    key = bench.key(scopes=["store"], effect_classes=EFFECTS[:3])
    refused(bench, "scope_denied", key.issue_key)
    refused(bench, "scope_denied", key.keys)
    refused(bench, "scope_denied", key.revoke_key, bench.key_id())
    refused(bench, "scope_denied", key.revoke_key, "k_none")


@pytest.mark.parametrize(("kinds", "claims"), [(["k"], True), (["*"], True), (["other"], False)])
def test_a_star_covers_all(bench: Bench, kinds: list[str], claims: bool) -> None:
    """`*` covers every queue and kind, those that come later too; a list covers what it names."""
    key = bench.key(kinds=kinds)
    bench.queue("later")
    bench.enqueue("later")
    assert (key.claim("later", "w") is not None) is claims
