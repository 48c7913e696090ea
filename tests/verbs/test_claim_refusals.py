"""claim: everything it refuses, and the damage it serves past."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from verbs.bench import Bench
from verbs.refusals import refused

WORKERS = ["w", "w" * 200, "€" * 200, "\x00", "\n", " ", "\U0001f600" * 200, "a\nb", "<script>"]
KEYS = ["!", "~" * 255, "x", "a-b_c.d:e/f", "'\"\\"]
NO_KEYS = ["", "x" * 256, " x", "x ", "x y", "x\n", "\n", "x\x00", "\x7f", "é", "€", "\u200b", 1, {}]


def test_names_of_workers(bench: Bench) -> None:
    """A worker's name is any text of 1 to 200 characters, kept exactly."""
    for worker in WORKERS:
        bench.enqueue()
        lease = bench.claim(worker=worker)
        assert lease.worker == bench.store.task(lease.task_id).worker == bench.log()[-1].worker == worker


def test_what_is_no_name_of_a_worker(bench: Bench) -> None:
    """No name, one character too many and broken text are refused."""
    for worker in ["", "w" * 201, "€" * 201, None, 1, ["w"], "\ud800"]:
        bench.enqueue()
        refused(bench, "invalid_request", bench.store.claim, "q", worker)


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_idempotency_keys(bench: Bench, key: str) -> None:
    """An idempotency key is 1 to 255 visible ASCII characters."""
    bench.enqueue()
    assert bench.claim(idempotency_key=key) == bench.claim(idempotency_key=key)


def test_what_is_no_idempotency_key(bench: Bench) -> None:
    """Spaces, control characters, other alphabets and one character too many are refused."""
    for key in NO_KEYS:
        bench.enqueue()
        refused(bench, "invalid_request", bench.store.claim, "q", "w", idempotency_key=key)


def test_the_length_of_the_filters(bench: Bench) -> None:
    """A claim names at most 1,000 kinds and four effect classes."""
    kinds = [f"kind-{number}" for number in range(1_001)]
    assert bench.store.claim("q", "w", kinds[:1_000]) is None
    refused(bench, "invalid_request", bench.store.claim, "q", "w", kinds)
    assert bench.store.claim("q", "w", None, ["read"] * 4) is None
    refused(bench, "invalid_request", bench.store.claim, "q", "w", None, ["read"] * 5)


NO_FILTERS: list[Any] = [
    {"kinds": "k"}, {"kinds": 1}, {"kinds": [None]}, {"kinds": ["*"]}, {"effect_classes": "read"},
    {"effect_classes": ["READ"]}, {"effect_classes": ["all"]},
]  # fmt: skip


def test_what_is_no_filter(bench: Bench) -> None:
    """A filter is a list of names; neither a lone text nor a wildcard is one."""
    for filters in NO_FILTERS:
        refused(bench, "invalid_request", bench.store.claim, "q", "w", **filters)


def test_an_unknown_queue(bench: Bench) -> None:
    """A claim on a queue that does not exist is `not_found`, also for a key of other queues."""
    refused(bench, "not_found", bench.store.claim, "none", "w")
    refused(bench, "not_found", bench.key(queues=["q"]).claim, "none", "w")


def test_asking_for_more_than_the_grant(bench: Bench) -> None:
    """A queue, kind or effect class outside the grant is refused, though others asked for are inside."""
    bench.queue("other")
    bench.enqueue()
    key = bench.key(queues=["q"], kinds=["k"], effect_classes=["read", "write-internal"])
    refused(bench, "forbidden", key.claim, "other", "w")
    refused(bench, "forbidden", key.claim, "q", "w", kinds=["k", "x"])
    refused(bench, "scope_denied", key.claim, "q", "w", effect_classes=["read", "write-repo"])
    assert key.claim("q", "w", ["k"], ["read"]) is not None


def test_admin_grants_neither_queues_nor_effects(bench: Bench) -> None:
    """An admin key claims only from its queues and only its effect classes."""
    bench.queue("other")
    bench.enqueue(effect_class="write-repo")
    admin = bench.key(scopes=["admin", "store"], queues=["q"])
    refused(bench, "forbidden", admin.claim, "other", "w")
    refused(bench, "scope_denied", admin.claim, "q", "w", effect_classes=["write-repo"])
    assert admin.claim("q", "w") is None


def test_a_refused_claim_settles_nothing(bench: Bench) -> None:
    """What is overdue waits for a claim that is allowed: a stranger moves nothing in a queue."""
    bench.queue("other")
    bench.leased()
    bench.world.pass_seconds(100)
    refused(bench, "forbidden", bench.key(queues=["other"]).claim, "q", "w")
    refused(bench, "scope_denied", bench.key().claim, "q", "w", effect_classes=["public"])


DAMAGE = {
    "another text": "update briefs set brief = '{}' where serial = 1",
    "no JSON": "update briefs set brief = '{\"for\":' where serial = 1",
    "no text": "update briefs set brief = cast(x'7bff7d' as text) where serial = 1",
    "another hash": "update briefs set sha256 = 'x' where serial = 1",
    "no row": "delete from briefs where serial = 1",
}


def damaged(bench: Bench, how: str) -> None:
    """Damage the first task's brief as a broken disk or a stray program would."""
    file = apsw.Connection(str(bench.path))
    file.execute(DAMAGE[how])
    file.close()


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_brief_is_buried(bench: Bench, how: str) -> None:
    """A task whose stored brief does not match its hash is dead-lettered by the claim that meets it, and the
    next one is served.
    """
    bad, good = bench.enqueue(priority=9), bench.enqueue()
    damaged(bench, how)
    assert bench.claim().task_id == good
    task = bench.store.task(bad)
    assert (task.state, task.brief, task.failures, task.attempts) == ("dead", None, 0, 0)
    assert task.last_error == "the stored brief does not match its hash"
    assert bench.story(bad) == ["enqueued", "dead_lettered"]
    assert bench.log(task_id=bad)[-1].data == {"failures": 0, "unreadable": True}
    assert [task.task_id for task in bench.store.tasks().tasks] == [bad, good]


@pytest.mark.parametrize("how", DAMAGE)
def test_a_brief_damaged_under_a_lease(bench: Bench, how: str) -> None:
    """Who holds the lease has the brief already: heartbeats, the claim again and the submit go on."""
    bench.enqueue()
    lease = bench.claim(idempotency_key="i")
    damaged(bench, how)
    assert bench.store.heartbeat(lease.task_id, 1).brief is None
    assert bench.claim(idempotency_key="i").brief is None
    bench.ok(lease)
    assert bench.state(lease.task_id) == "done"
