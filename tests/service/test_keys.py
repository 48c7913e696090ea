"""Keys at the door: who is let in, who is throttled, when a key counts no more, that none is shown."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path

import pytest
from service.running import Aside, Running, reply_on, serving

import tessera
from tessera.limits import WRONG_KEYS_AT_ONCE, WRONG_KEYS_SECONDS


def wrong(number: int) -> str:
    """A key that nobody has, with a beginning of its own."""
    return f"tessera_{number:04d}{'x' * 39}"


def test_wrong_keys_are_throttled_by_address(own: Running) -> None:
    """After so many different wrong keys from one address there is 429 with `Retry-After`, while a right key,
    one used before and one new, is let in from the same address all along.
    """
    codes = [own.get("/v1/queues", key=wrong(number)).code for number in range(WRONG_KEYS_AT_ONCE + 5)]

    assert codes[:WRONG_KEYS_AT_ONCE] == ["unauthorized"] * WRONG_KEYS_AT_ONCE
    assert codes[-1] == "rate_limited"
    refused = own.get("/v1/queues", key=wrong(9_999))
    assert (refused.status, refused.json["definite"]) == (429, True)
    assert 1 <= int(refused.headers["retry-after"]) <= WRONG_KEYS_SECONDS
    assert own.get("/v1/queues").status == 200
    assert own.get("/v1/queues", key=own.key()).status == 200


def test_wrong_keys_are_throttled_by_their_beginning(tmp_path: Path) -> None:
    """Behind an edge each client has its own address, and guesses at one key from many are throttled by what
    they have in common; another address with other keys is not.
    """
    with serving(tmp_path, TESSERA_EDGE_SECRET="an edge secret") as own:
        edge = {"x-edge-auth": "an edge secret"}
        for number in range(WRONG_KEYS_AT_ONCE + 2):
            from_there = {**edge, "x-forwarded-for": f"10.0.0.{number}"}
            last = own.get("/v1/queues", key=f"tessera_guess123-{number}", headers=from_there)
        elsewhere = own.get("/v1/queues", key=wrong(1), headers={**edge, "x-forwarded-for": "10.9.9.9"})

    assert last.code == "rate_limited"
    assert elsewhere.code == "unauthorized"


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic {}", "{}", "Token {}"])
def test_only_a_bearer_is_read(service: Running, value: str) -> None:
    """A key under another scheme, or none, is no key."""
    given = {"authorization": value.format(service.admin)}

    assert service.get("/v1/queues", key=None, headers=given).code == "unauthorized"
    assert (
        service.get("/v1/queues", key=None, headers={"authorization": f"bearer {service.admin}"}).status
        == 200
    )


def test_a_key_in_the_query_is_refused(service: Running) -> None:
    """A key in a query is 401 even beside a right one in its header, whatever it is called there."""
    for query in (f"key={service.admin}", "token=abc", f"limit=1&access_token={service.admin}",
                  f"queue={service.admin}"):  # fmt: skip
        assert service.get(f"/v1/tasks?{query}").code == "unauthorized"


def test_a_request_may_not_hold_its_own_key(service: Running) -> None:
    """A key in the body or the idempotency key of a request would be kept and shown, so it is refused."""
    service.queue("own-key")
    task_id = service.enqueue("own-key")
    service.claim("own-key")
    for brief in ({"token": service.admin}, {service.admin: 1}):
        body = {"queue": "own-key", "kind": "k", "brief": brief}
        assert service.post("/v1/tasks", body).code == "invalid_request"
    submit = {"task_id": task_id, "fencing_token": 1}
    reply = service.post("/v1/tasks/submit", submit, headers={"idempotency-key": service.admin})
    assert reply.code == "invalid_request"
    assert service.post("/v1/tasks/claim", {"queue": "own-key", "worker": service.admin}).status == 400


def test_a_key_issued_or_revoked_by_another_process_counts_at_once(service: Running) -> None:
    """A key of the command line's is honoured by the running service at once, and no more once it is revoked
    there.
    """
    with tessera.open(str(service.store)) as store:
        issued = store.issue_key(name="beside")
        assert service.get("/v1/queues", key=issued.key).status == 200
        store.revoke_key(issued.grant.key_id)
        assert service.get("/v1/queues", key=issued.key).code == "unauthorized"


def test_an_expired_key_counts_no_more(service: Running) -> None:
    """A key is refused from the instant of its expiry on, though it was known before."""
    key = service.key(name="brief life")
    assert service.get("/v1/queues", key=key).status == 200
    other = sqlite3.connect(service.store)
    with other:
        other.execute("update keys set expires_at = 1 where name = 'brief life'")
    other.close()

    assert service.get("/v1/queues", key=key).code == "unauthorized"


def test_a_revoked_key_waits_no_longer(service: Running) -> None:
    """A claim that waits under a key is `unauthorized` as soon as the key is revoked, and gets nothing."""
    service.queue("revoked")
    issued = service.post("/v1/admin/keys", {"queues": ["revoked"]}).json
    waiting = Aside(
        service.post, "/v1/tasks/claim", {"queue": "revoked", "worker": "w", "wait_seconds": 30},
        key=issued["key"],
    )  # fmt: skip
    time.sleep(0.3)
    start = time.monotonic()
    assert service.post(f"/v1/admin/keys/{issued['grant']['key_id']}/revoke").status == 200
    assert waiting.result().code == "unauthorized"

    assert time.monotonic() - start < 2
    service.enqueue("revoked")
    assert service.claim("revoked").status == 200


def test_the_edge_secret_comes_first(tmp_path: Path) -> None:
    """With an edge secret every request needs it, before path, method and key are looked at; health does
    not.
    """
    with serving(tmp_path, TESSERA_EDGE_SECRET="a good secret") as own:
        for method, path in (("GET", "/v1/queues"), ("GET", "/nothing"), ("GET", "/v1/tasks/claim"),
                             ("OPTIONS", "/v1/tasks"), ("POST", "/v1/tasks")):  # fmt: skip
            for headers in ({}, {"x-edge-auth": "a good secreT"}, {"x-edge-auth": ""}):
                reply = own.call(method, path, headers=headers)
                assert (reply.status, reply.code) == (403, "forbidden")
        good = {"x-edge-auth": "a good secret"}
        assert own.get("/v1/queues", headers=good).status == 200
        assert own.get("/nothing", headers=good).status == 404
        for path in ("/healthz", "/v1/health"):
            assert own.get(path, key=None).status == 200


@pytest.mark.parametrize("form", ["text", "json"])
def test_h11_no_key_is_ever_shown(tmp_path: Path, form: str) -> None:
    """H11: keys sent in every place that could echo them, with refusals and an unforeseen error among the
    answers, show up in no answer, no log line and no event; nor do the first 12 characters of their random
    part.
    """
    with serving(tmp_path, TESSERA_LOG=form) as own:
        own.queue("q")
        key = own.key(queues=["q"])
        for sent in (key, own.admin):
            own.get(f"/v1/queues?token={sent}")
            own.get(f"/{sent}", key=sent)
            own.get(f"/v1/tasks/{sent}", key=sent)
            own.get(f"/v1/tasks/{sent}/results", key=None)
            own.get("/v1/queues", headers={"x-api-key": sent, "cookie": sent, "user-agent": sent}, key=sent)
            own.get("/v1/queues", key=f"{sent}x")
            own.get(f"/v1/tasks?state={sent}", key=sent)
            for body in ({"api_key": sent}, {"queue": sent, "kind": sent, "brief": {"a": sent}},
                         {"queue": "q", "kind": "k", "brief": {}, "effect_class": sent}):  # fmt: skip
                own.post("/v1/tasks", body, key=sent)
                own.post("/v1/tasks", body, key="tessera_other")
            own.post("/v1/tasks/submit", {"task_id": "x"}, key=sent, headers={"idempotency-key": sent})
            with own.raw(f"GET /{sent} {sent}\r\n\r\n".encode()):
                pass
        broken = sqlite3.connect(own.store)
        with broken:
            broken.execute("drop table briefs")
        broken.close()
        assert own.post("/v1/tasks", {"queue": "q", "kind": "k", "brief": {}}, key=key).status == 500
        own.get("/v1/events?limit=10000")
        own.stop()
        shown = b"\n".join(own.seen) + own.log.read_bytes()

    assert b"Traceback" in shown
    for sent in (key, own.admin):
        assert sent.removeprefix("tessera_")[:12].encode() not in shown
    assert not re.search(rb"tessera_(?!other|none)[A-Za-z0-9_-]{20,}", shown)


def test_two_keys_are_none(service: Running) -> None:
    """A request with two `Authorization` headers, equal or not, is 401, and is told that there were two."""
    mine, body = f"authorization: Bearer {service.admin}\r\n", b'{"queue": "q", "worker": "w"}'
    for other in (mine, "authorization: Bearer x\r\n", "Authorization: Basic eDp5\r\n"):
        for keys in (mine + other, other + mine):
            head = f"POST /v1/tasks/claim HTTP/1.1\r\nhost: h\r\n{keys}content-length: {len(body)}\r\n\r\n"
            with service.raw(head.encode() + body) as bare:
                reply = reply_on(bare)
            assert (reply.status, reply.code) == (401, "unauthorized")
            assert "sent twice" in reply.json["detail"]
