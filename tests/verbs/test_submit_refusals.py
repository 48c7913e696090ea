"""submit: everything it refuses. (Specification §5.4, §9; contract §2, §4.)"""

from __future__ import annotations

from typing import Any

import pytest
from verbs.bench import LAPSE, Bench
from verbs.refusals import refused, refused_after_lapse

from tessera.models import Lease

MIB = 1 << 20
ERROR_BYTES = 8 << 10
KEYS = ["!", "~" * 255, "a-b_c.d:e/f", "'\"\\", "%00"]
NO_KEYS = [
    None, "", "x" * 256, "x" * 10_000, " x", "x ", "x y", "x\n", "\r\n", "x\x00", "\x7f", "é", "€", 1, {},
]  # fmt: skip


@pytest.fixture
def lease(bench: Bench) -> Lease:
    """A live lease under the first token."""
    return bench.leased()


@pytest.mark.parametrize("key", KEYS, ids=ascii)
def test_idempotency_keys(bench: Bench, lease: Lease, key: str) -> None:
    """Any 1 to 255 visible ASCII characters are a key, kept exactly."""
    assert bench.store.submit(lease.task_id, 1, None, key).idempotency_key == key
    assert bench.store.submit(lease.task_id, 1, None, key).replayed


def test_what_is_no_idempotency_key(bench: Bench, lease: Lease) -> None:
    """No key, an empty or long one, spaces, control characters and other alphabets: nothing is stored."""
    for key in NO_KEYS:
        refusal = refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, None, key)
        assert "idempotency_key" in refusal.detail
        assert bench.store.results(lease.task_id) == []


def output_of(size: int, character: str) -> str:
    """A text whose canonical JSON, quotes included, has exactly this many bytes."""
    width = len(character.encode())
    return character * ((size - 2) // width) + "x" * ((size - 2) % width)


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600"])
def test_the_size_of_an_output(bench: Bench, lease: Lease, character: str) -> None:
    """An output has at most 1 MiB of canonical bytes, quotes included: one more byte is refused."""
    beyond = output_of(MIB + 1, character)
    refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, beyond, "i")
    bench.store.submit(lease.task_id, 1, output_of(MIB, character), "i")
    assert bench.store.results(lease.task_id)[0].output == output_of(MIB, character)


@pytest.mark.parametrize("character", ["x", "é", "€", "\U0001f600", "\n"])
@pytest.mark.parametrize("ok", [True, False])
def test_the_size_of_an_error(bench: Bench, lease: Lease, character: str, ok: bool) -> None:
    """An error has at most 8 KiB of UTF-8, whatever its count of characters."""
    width = len(character.encode())
    error = character * (ERROR_BYTES // width) + "x" * (ERROR_BYTES % width)
    refusal = refused(
        bench, "invalid_request", bench.store.submit, lease.task_id, 1, None, "i", ok, error + "x"
    )
    assert "error" in refusal.detail
    bench.store.submit(lease.task_id, 1, None, "i", ok, error)
    assert bench.store.results(lease.task_id)[0].error == error


UNSAYABLE: list[Any] = [float("nan"), float("-inf"), 2**53, -(2**53), 1e16, "\udc00", b"b", {1: 2}, ...]


def test_an_output_that_json_cannot_say(bench: Bench, lease: Lease) -> None:
    """What JSON or JavaScript could not give back exactly is refused, with the path."""
    for value in UNSAYABLE:
        for output, path in (({"a": [value]}, "output.a[0]"), (value, "output")):
            refusal = refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, output, "i")
            assert refusal.detail.startswith(path)


LITERALS: list[Any] = [b"NaN", b"1e400", b"-1e400", b"9007199254740992", b'"\\ud800"', b"01"]


def test_an_output_of_another_parser(bench: Bench, lease: Lease) -> None:
    """Raw JSON is held to the same: what turns into an infinity or a rounded number is refused."""
    for literal in LITERALS:
        ask = b'{"task_id":"%s","fencing_token":1,"idempotency_key":"i","output":[%s]}'
        refused(bench, "invalid_request", bench.raw, "submit", ask % (lease.task_id.encode(), literal))


@pytest.mark.parametrize("levels", [500, 501])
def test_the_depth_of_an_output(bench: Bench, lease: Lease, levels: int) -> None:
    """An output may be nested 500 levels deep and not one more."""
    output: object = 1
    for _ in range(levels):
        output = [output]
    if levels == 500:
        bench.store.submit(lease.task_id, 1, output, "i")
        assert bench.store.results(lease.task_id)[0].output == output
    else:
        refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, output, "i")


NO_OUTCOMES: list[Any] = [{"ok": None}, {"ok": 1}, {"ok": "true"}, {"error": 5}, {"error": ["e"]}]


def test_what_is_no_outcome(bench: Bench, lease: Lease) -> None:
    """`ok` is a boolean and `error` a text."""
    for field in NO_OUTCOMES:
        refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, None, "i", **field)


def test_what_is_no_token(bench: Bench, lease: Lease) -> None:
    """A token is an integer from 1 to 2^53 - 1."""
    for token in [0, -1, 1.0, 2**53, "1", True, None]:
        refused(bench, "invalid_request", bench.store.submit, lease.task_id, token, None, "i")


def test_an_unknown_task(bench: Bench, lease: Lease) -> None:
    """A task that does not exist is not found, even under a key that was used."""
    refused(bench, "not_found", bench.store.submit, "none", 1, None, "i")
    bench.store.submit(lease.task_id, 1, None, "i")
    refused(bench, "not_found", bench.store.submit, "none", 1, None, "i")


def test_a_key_of_another_task(bench: Bench, lease: Lease) -> None:
    """A key that served one task is a conflict on any other, though the answer would be equal; the lease goes
    on and the detail tells nothing of the first.
    """
    bench.store.submit(lease.task_id, 1, {"same": 1}, "shared")
    second = bench.leased()
    for token in (1, 2):
        refusal = refused(
            bench, "idempotency_conflict", bench.store.submit, second.task_id, token, {"same": 1}, "shared"
        )
        assert lease.task_id not in refusal.detail
        assert "same" not in refusal.detail
    bench.store.submit(second.task_id, 1, {"same": 1}, "fresh")


def test_a_conflict_comes_before_the_lapse(bench: Bench, lease: Lease) -> None:
    """The key is looked up before the lease: a conflict is told on a lapsed lease too, and it stays so."""
    bench.ok(lease)
    bench.store.submit(bench.leased().task_id, 1, None, "shared")
    third = bench.leased()
    bench.world.pass_seconds(LAPSE)
    refused(bench, "idempotency_conflict", bench.store.submit, third.task_id, 1, None, "shared")
    assert bench.state(third.task_id) == "leased"


@pytest.mark.parametrize("ok", [True, False])
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_lapsed_lease(bench: Bench, ok: bool, attempts: int) -> None:
    """A submit on a lease that has just lapsed settles the lapse, stores no result, and is refused."""
    bench.queue("l", max_attempts=attempts)
    lease = bench.leased("l")
    bench.enqueue("l", task_id="d", kind="d", depends_on=[lease.task_id])
    bench.world.pass_seconds(LAPSE)
    refused_after_lapse(bench, "stale_lease", bench.store.submit, lease.task_id, 1, 1, "i", queue="l", ok=ok)
    task = bench.store.task(lease.task_id)
    dead = attempts == 1
    assert (task.state, task.failures) == ("dead" if dead else "ready", 1)
    assert bench.state("d") == ("ready" if dead else "waiting")
    assert bench.store.results(lease.task_id) == []
    refused(bench, "stale_lease", bench.store.submit, lease.task_id, 1, 1, "i", ok)


def test_live_to_the_last_microsecond(bench: Bench, lease: Lease) -> None:
    """A submit one microsecond before the deadline is in time."""
    bench.world.pass_seconds(LAPSE - 0.000001)
    assert bench.store.submit(lease.task_id, 1, None, "i").state == "done"


@pytest.mark.parametrize("token", [1, 3, 2**53 - 1])
def test_another_token(bench: Bench, lease: Lease, token: int) -> None:
    """Neither an old nor a guessed token hands anything in, whoever asks."""
    bench.world.pass_seconds(LAPSE)
    bench.claim(worker="second")
    for store in (bench.store, bench.key()):
        refused(bench, "stale_lease", store.submit, lease.task_id, token, None, "i")


def test_outside_the_grant(bench: Bench, lease: Lease) -> None:
    """Keys of other queues or kinds can neither hand in nor read a receipt by its key."""
    bench.queue("other")
    strangers = bench.key(queues=["other"]), bench.key(kinds=["x"])
    at = lease.task_id, 1, None, "i"
    before = [refused(bench, "forbidden", key.submit, *at).problem() for key in strangers]
    bench.store.submit(*at)
    assert [refused(bench, "forbidden", key.submit, *at).problem() for key in strangers] == before


def test_another_keys_lease(bench: Bench, lease: Lease) -> None:
    """Only the key that claimed hands in; an admin key does not, the owner may."""
    claiming = bench.key()
    bench.enqueue(task_id="theirs")
    assert claiming.claim("q", "w")
    for key in (bench.key(), bench.key(scopes=["admin"])):
        refused(bench, "scope_denied", key.submit, lease.task_id, 1, None, "i")
        refused(bench, "scope_denied", key.submit, "theirs", 1, None, "i")
    refused(bench, "scope_denied", claiming.submit, lease.task_id, 1, None, "i")
    assert bench.store.submit("theirs", 1, None, "i").state == "done"
