"""What a client does when no answer comes, or one that may pass: again where that is safe, and not else."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera.client.retries import SAME_AGAIN, Patience
from tessera.errors import Forbidden, InvalidRequest, RateLimited, StaleLease, TesseraError, Unavailable
from tessera.library import Tessera
from tessera.limits import BLOB_BYTES_MAX
from tessera.surface import SURFACE
from tessera.testing import World, serving

SPEC = {"queue": "q", "kind": "k", "brief": {}}
SUBMIT = {"task_id": "t_1", "fencing_token": 1, "idempotency_key": "key"}
ENQUEUED = json.dumps({"task_id": "t_1"}).encode()


def problem(error: TesseraError) -> bytes:
    return json.dumps(error.problem()).encode()


@pytest.fixture
def client(stand_in, world: World):
    with tessera.Client(stand_in.url, "the-key", runtime=world.runtime(), retries=3) as client:
        yield client


def test_a_definite_refusal_is_sent_again_when_it_says(client, stand_in, answer, world) -> None:
    """`unavailable` that changed nothing is asked again after its Retry-After and a moment more, whatever the
    verb.
    """
    busy = answer(503, problem(Unavailable(definite=True)), kind="application/problem+json", Retry_After="2")
    stand_in.acts[:] = [busy, answer(201, ENQUEUED)]

    assert client.enqueue(SPEC) == "t_1"
    assert len(stand_in.requests) == 2
    assert 2_000_000 < world.elapsed_us <= 2_100_000


def test_an_event_loop_s_client_does_the_same(stand_in, answer, world) -> None:
    """The async client asks again too, without holding its loop up."""
    busy = answer(429, problem(RateLimited()), kind="application/problem+json")
    stand_in.acts[:] = [busy, busy, answer(201, ENQUEUED)]

    async def enqueue() -> str:
        async with tessera.AsyncClient(stand_in.url, "the-key", runtime=world.runtime()) as client:
            return await client.enqueue(SPEC)

    assert asyncio.run(enqueue()) == "t_1"
    assert len(stand_in.requests) == 3


@pytest.mark.parametrize(
    ("act", "times"),
    [
        (lambda client: client.enqueue(SPEC), 1),
        (lambda client: client.enqueue(SPEC, task_id="t_1"), 4),
        (lambda client: client.enqueue_batch([{**SPEC, "task_id": "t_1"}, SPEC]), 1),
        (lambda client: client.enqueue_batch([{**SPEC, "task_id": "t_1"}]), 4),
        (lambda client: client.claim("q", "w"), 4),
        (lambda client: client.submit("t_1", 1, None, "key"), 4),
        (lambda client: client.submit_batch([SUBMIT]), 4),
        (lambda client: client.heartbeat("t_1", 1), 4),
        (lambda client: client.split("t_1", 1, [{"brief": {}}]), 1),
        (lambda client: client.park("t_1", 1, "why"), 1),
        (lambda client: client.release("t_1", 1), 1),
        (lambda client: client.resume("t_1", 1), 1),
        (lambda client: client.cancel("t_1", "why"), 1),
        (lambda client: client.issue_key(), 1),
        (lambda client: client.counts(), 4),
    ],
)  # fmt: skip
def test_what_may_have_happened_is_not_done_twice(client, stand_in, act, times) -> None:
    """When the peer hangs up, only what may be done twice is sent again; the refusal is not definite."""
    stand_in.acts[:] = [None]

    with pytest.raises(Unavailable) as refusal:
        act(client)
    assert not refusal.value.definite
    assert len(stand_in.requests) == times
    assert len(set(stand_in.requests)) == 1  # a claim keeps its idempotency key


def test_a_claim_goes_out_under_a_key_of_its_own(client, stand_in, answer) -> None:
    """Each claim has another idempotency key, unless the caller gives one."""
    stand_in.acts[:] = [answer(204, Retry_After="7")]

    client.claim("q", "w"), client.claim("q", "w")
    assert client.claim_or_wait("q", "w", idempotency_key="mine").retry_after_seconds == 7
    one, two, three = stand_in.heads("idempotency-key")
    assert one != two
    assert three == "mine"
    assert b"idempotency_key" not in b"".join(stand_in.requests)


def test_what_will_not_pass_is_not_asked_again(client, stand_in, answer) -> None:
    """A conflict, a missing right or a fault inside are raised at once."""
    for error in (StaleLease("too late"), Forbidden(), TesseraError()):
        stand_in.acts[:] = [answer(error.status, problem(error), kind="application/problem+json")]
        stand_in.requests.clear()
        with pytest.raises(type(error)) as refusal:
            client.heartbeat("t_1", 1)
        assert (refusal.value.code, refusal.value.detail) == (error.code, error.detail)
        assert len(stand_in.requests) == 1


def test_nobody_there_is_definite(world) -> None:
    """A connection that is refused certainly changed nothing; it is tried a few times, ever more slowly."""
    client = tessera.Client("http://127.0.0.1:9", runtime=world.runtime(), retries=3)
    with client, pytest.raises(Unavailable, match=r"at http://127\.0\.0\.1:9 \(") as refusal:
        client.enqueue(SPEC)

    assert refusal.value.definite
    assert world.elapsed_us == 100_000 + 200_000 + 400_000


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ((502, b"<h1>Bad Gateway</h1>"), "unavailable"),
        ((404, b"<h1>Not Found</h1>"), "internal"),
        ((200, b"<h1>Welcome</h1>"), "internal"),
        ((200, b'{"something": "else"}'), "internal"),
        ((302, b""), "internal"),
        ((400, b'{"code": "no_such_code"}'), "internal"),
        ((429, b"slow down"), "rate_limited"),
    ],
)
def test_somebody_else_may_answer(client, stand_in, answer, reply, code) -> None:
    """What did not come from a service is told as such, and nobody is sent the key on a redirect."""
    status, body = reply
    stand_in.acts[:] = [answer(status, body, kind="text/html", Location="http://127.0.0.1:9/")]

    with pytest.raises(TesseraError) as refusal:
        client.counts()
    assert refusal.value.code == code
    assert body.decode() not in refusal.value.detail or not body


def test_a_newer_service_may_say_more(client, stand_in, answer) -> None:
    """Fields that this client does not know are passed over, at every depth: workers outlive an upgrade."""
    counts = dict.fromkeys(("ready", "leased", "waiting", "done", "dead", "cancelled"), 0)
    said = {"as_of": "2026-01-01T00:00:00.000000Z", "queues": {"q": {**counts, "lost": 7}}, "node": "n1"}
    stand_in.acts[:] = [answer(200, json.dumps(said).encode())]

    assert client.counts().queues["q"].ready == 0


def test_bytes_that_the_wire_spoilt_are_refused(client, stand_in, answer) -> None:
    """A whole blob is compared with its hash once more, and asked for again when it differs."""
    sha256 = hashlib.sha256(b"whole").hexdigest()
    good, bad = (answer(200, body, kind="text/plain", ETag=f'"{sha256}"') for body in (b"whole", b"hole"))
    stand_in.acts[:] = [bad, good]

    assert client.get_blob(sha256) == b"whole"
    stand_in.acts[:] = [bad]
    with pytest.raises(Unavailable, match="not those of the hash"):
        client.get_blob(sha256)


@pytest.mark.parametrize(
    "data",
    [bytes(BLOB_BYTES_MAX + 1), io.BytesIO(bytes(BLOB_BYTES_MAX + 1)), io.StringIO("x")],
    ids=["bytes", "file", "text"],
)
def test_bytes_that_cannot_be_put_are_not_sent(client, stand_in, data) -> None:
    """Too many bytes, and what gives none, are refused here."""
    with pytest.raises(InvalidRequest, match="body: "):
        client.put_blob(data)
    assert stand_in.requests == []


def test_patience_ends() -> None:
    """Waits double up to a cap; a Retry-After is kept, and one beyond half a minute is not waited for."""
    patience = Patience(retries=9)
    most = [
        patience.pause(Unavailable(definite=True), False, tried, lambda _, high: high)
        for tried in range(1, 11)
    ]
    assert most == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0, None]
    asked = [RateLimited(retry_after_seconds=seconds) for seconds in (3, 31)]
    assert [patience.pause(one, False, 1, lambda low, _: low) for one in asked] == [3.05, None]


def test_the_verbs_that_are_the_same_again_exist() -> None:
    """The list of repeatable verbs names only verbs that write."""
    assert all(not SURFACE[name].reads for name in SAME_AGAIN)


def test_a_client_outlives_a_service(tmp_path: Path) -> None:
    """A service that is killed and started again on its port is found again; nothing lost or doubled."""
    path = tmp_path / "store.db"
    with tessera.open(str(path)) as owner:
        owner.define_queue("q")
        key = owner.issue_key(scopes=["admin"]).key
    with serving(path) as service:
        port = int(service.url.rpartition(":")[2])
        with tessera.Client(service.url, key, retries=30) as client:
            client.enqueue(SPEC, task_id="one")
            lease = client.claim("q", "w")
            assert service.end(9) == -9
            with Again(path, port):
                receipt = _twice(client, lease)
                assert client.enqueue(SPEC, task_id="one") == "one"
                assert client.counts(recount=True).queues["q"].done == 1
    assert receipt.state == "done"


def _twice(client: Tessera, lease: Any) -> Any:
    """Two submits under one key, of which the second is told what the first was."""
    first, second = (client.submit(lease.task_id, lease.fencing_token, 1, "key") for _ in range(2))
    assert (first.replayed, second.replayed, first.sha256) == (False, True, second.sha256)
    return second


class Again:
    """The service, started once more."""

    def __init__(self, path: Path, port: int) -> None:
        self._serving = serving(path, port=port)

    def __enter__(self) -> None:
        self._serving.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._serving.__exit__(*error)
