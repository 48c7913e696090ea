"""issue_approval: the owner's word for one `public` key. (Specification §7; contract §4.9.)"""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import dump, refused

from tessera.errors import TesseraError

VERBS = ("issue_approval",)
PUBLIC = {"effect_classes": ["public"], "queues": ["q"]}
HOUR = 3_600


def approved(bench: Bench, **grant: Any) -> str:
    """An approval's token."""
    return bench.store.issue_approval(**{**PUBLIC, **grant}).approval


def test_an_approved_key(bench: Bench) -> None:
    """With its approval a key may be `public`; the approval is shown once and kept as a hash."""
    answer = bench.store.issue_approval(**PUBLIC)
    assert answer.expires_at == bench.after(HOUR)
    assert answer.approval not in repr(dump(bench.path)) + repr(bench.log())
    issued = bench.store.issue_key(**PUBLIC, approval=answer.approval)
    assert issued.grant.effect_classes == ["public"]
    assert dump(bench.path)["approvals"][0][4] == issued.grant.key_id


def test_the_log_of_an_approval(bench: Bench) -> None:
    """One event says that an approval was given, and nothing of it."""
    seq = bench.seq()
    approved(bench)
    (line,) = bench.log(seq)
    assert (line.type, line.queue, line.task_id, line.key_id, line.data) == (
        "approval_issued", None, None, None, None,
    )  # fmt: skip


def test_no_public_key_without_one(bench: Bench) -> None:
    """Neither the owner nor an admin key makes a `public` key without an approval."""
    admin = bench.key(scopes=["admin"])
    refused(bench, "scope_denied", bench.store.issue_key, **PUBLIC)
    refused(bench, "scope_denied", admin.issue_key, **PUBLIC)
    refused(bench, "scope_denied", bench.store.issue_key, effect_classes=["read", "public"])
    assert admin.issue_key(**PUBLIC, approval=approved(bench)).grant.queues == ["q"]


def test_an_approval_is_good_once(bench: Bench) -> None:
    """The second key under one approval is refused, and tells what it would of any wrong token."""
    token = approved(bench)
    bench.store.issue_key(**PUBLIC, approval=token)
    used = refused(bench, "scope_denied", bench.store.issue_key, **PUBLIC, approval=token)
    unknown = refused(bench, "scope_denied", bench.store.issue_key, **PUBLIC, approval="approval_x")
    assert used.detail == unknown.detail


def test_an_approval_is_good_for_an_hour(bench: Bench) -> None:
    """It serves to its last microsecond and not at the full hour."""
    first, second = approved(bench), approved(bench)
    bench.world.pass_seconds(HOUR - 0.000001)
    bench.store.issue_key(**PUBLIC, approval=first)
    bench.world.pass_seconds(0.000001)
    refused(bench, "scope_denied", bench.store.issue_key, **PUBLIC, approval=second)


@pytest.mark.parametrize(
    "change",
    [{"queues": ["*"]}, {"queues": ["q", "r"]}, {"kinds": ["k"]}, {"scopes": ["admin"]}, {"days": 13},
     {"effect_classes": ["read", "public"]}],
)  # fmt: skip
def test_an_approval_is_for_its_grant(bench: Bench, change: dict[str, Any]) -> None:
    """Any other grant than the one approved, wider or not, is refused; the approval stays good."""
    token = approved(bench)
    refused(bench, "scope_denied", bench.store.issue_key, **{**PUBLIC, **change}, approval=token)
    assert bench.store.issue_key(**PUBLIC, approval=token).grant.queues == ["q"]


def test_equal_grants_are_equal_however_they_are_written(bench: Bench) -> None:
    """Order and repetition of names make no other grant, and neither does the key's label."""
    token = approved(bench, queues=["b", "a", "b"], scopes=["store", "admin"])
    issued = bench.store.issue_key(
        **{**PUBLIC, "queues": ["a", "b"], "scopes": ["admin", "store"]}, name="label", approval=token
    )
    assert issued.grant.queues == ["a", "b"]


def test_a_refused_key_uses_up_nothing(bench: Bench) -> None:
    """A malformed request for a key leaves its approval good."""
    token = approved(bench)
    refused(bench, "invalid_request", bench.store.issue_key, **PUBLIC, days=99, approval=token)
    bench.store.issue_key(**PUBLIC, approval=token)


def test_only_the_owner_approves(bench: Bench) -> None:
    """No key, admin or not, gives an approval: it is made on the store's machine only."""
    for key in (bench.key(), bench.key(scopes=["admin", "store"])):
        refused(bench, "scope_denied", key.issue_approval, **PUBLIC)


def test_what_is_no_grant(bench: Bench) -> None:
    """An approval takes a grant, as a key would have it, and nothing else."""
    for body in [{"days": 15}, {"name": "n"}, {"approval": "x"}, {"effect_classes": []}]:
        refused(bench, "invalid_request", bench.store.issue_approval, **body)


def test_eight_at_once(bench: Bench) -> None:
    """Eight threads with one approval make one key."""
    token = approved(bench)
    start, made = Barrier(8), []

    def issue() -> None:
        start.wait(10)
        try:
            made.append(bench.store.issue_key(**PUBLIC, approval=token))
        except TesseraError as refusal:
            made.append(refusal.code)

    threads = [Thread(target=issue) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.count("scope_denied") == 7
    assert len(bench.store.keys()) == 1
