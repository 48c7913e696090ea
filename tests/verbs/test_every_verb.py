"""What every verb of the surface does with a bad key, a bad body and a closed store."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from typing import Any

import apsw
import msgspec
import pytest
from verbs.bench import Bench
from verbs.refusals import EVERY_VERB, REFUSALS, dump, refused

from tessera.errors import TesseraError
from tessera.limits import DAY_SECONDS
from tessera.surface import SURFACE

LEASE = {"task_id": "t", "fencing_token": 1}
ASKS: dict[str, dict[str, Any]] = {
    "define_queue": {"name": "other"},
    "pause_queue": {"name": "q"},
    "resume_queue": {"name": "q"},
    "queues": {},
    "enqueue": {"queue": "q", "kind": "k", "brief": {}},
    "enqueue_batch": {"tasks": [{"queue": "q", "kind": "k", "brief": {}}]},
    "claim": {"queue": "q", "worker": "w"},
    "claim_batch": {"queue": "q", "worker": "w", "limit": 2},
    "heartbeat": LEASE,
    "submit": {**LEASE, "output": 1, "idempotency_key": "i"},
    "submit_batch": {"submits": [{**LEASE, "output": 1, "idempotency_key": "i"}]},
    "split": {**LEASE, "children": [{"brief": {}}]},
    "park": {**LEASE, "reason": "r"},
    "release": LEASE,
    "resume": {"task_id": "t", "input": 1},
    "cancel": {"task_id": "t", "reason": "r"},
    "requeue": {"task_id": "t"},
    "register_job": {**LEASE, "job_id": "j", "model": "m"},
    "update_job": {"job_id": "j", "status": "completed"},
    "jobs": {},
    "reap": {},
    "task": {"task_id": "t"},
    "tasks": {},
    "results": {"task_id": "t"},
    "counts": {},
    "health": {},
    "events": {},
    "put_record": {"store": "s", "key": "k", "value": 1},
    "put_records": {"writes": [{"store": "s", "key": "k", "value": 1}]},
    "get_record": {"store": "s", "key": "k"},
    "record_history": {"store": "s", "key": "k"},
    "stores": {},
    "list_records": {"store": "s"},
    "feeds": {},
    "publish_feed": {"feed": "f", "payload": 1},
    "poll_feed": {"feed": "f"},
    "put_blob": {},
    "get_blob": {"sha256": "0" * 64},
    "blob_meta": {"sha256": "0" * 64},
    "define_bucket": {"name": "b"},
    "buckets": {},
    "put_object": {"bucket": "nouns", "key": "k"},
    "get_object": {"bucket": "nouns", "key": "k"},
    "object_meta": {"bucket": "nouns", "key": "k"},
    "list_objects": {"bucket": "nouns"},
    "object_history": {"bucket": "nouns", "key": "k"},
    "search_nouns": {"query": "w"},
    "noun": {"place": "nouns", "key": "k"},
    "read_noun": {"place": "nouns", "key": "k"},
    "match_reflex": {"query": "w"},
    "issue_key": {},
    "keys": {},
    "revoke_key": {"key_id": "k_1"},
    "issue_approval": {},
    "define_workspace": {"workspace_id": "ws_a", "name": "A"},
    "define_role": {"workspace_id": "ws_a", "role_id": "role_r", "name": "R"},
    "assign_queue": {"workspace_id": "ws_a", "queue_id": "q"},
    "define_agent": {"workspace_id": "ws_a", "agent_id": "agt_a"},
    "define_lite_task": {
        "workspace_id": "ws_a",
        "queue_id": "q",
        "title": "T",
        "brief": "B",
        "required_role_id": "role_r",
    },
    "workspaces": {},
    "workspace": {"workspace_id": "ws_a"},
    "claims": {},
    "claim_next": {"queue_id": "q", "agent_id": "agt_a", "idempotency_key": "i"},
    "claim_task": {"task_id": "t", "agent_id": "agt_a", "idempotency_key": "i"},
    "recover_claims": {},
    "topic_messages": {"role_id": "role_r"},
    "workspace_secret": {"workspace_id": "ws_a"},
}
VERBS = sorted(SURFACE)
NO_REQUESTS = [
    b"", b" ", b"null", b"[]", b"1", b'"x"', b"{", b"{}{}", b"{} x", b"\xef\xbb\xbf{}", b"{'a':1}",
    b'{"\xff":1}', "{}".encode("utf-16"), b"[" * 100_000, b'{"unknown":' + b"[" * 100_000,
    b'{"a":"\\ud800"}', b"{}\x00",
]  # fmt: skip
OF_ANY_TYPE: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, 2**53, "", "x", "x\n", "*", [], [None], [""], {}, {"a": 1},
]  # fmt: skip


@pytest.fixture
def stocked(bench: Bench) -> Bench:
    """A bench with a task `t` that is leased under its first token, and its model job `j`."""
    bench.leased(task_id="t")
    bench.store.register_job("t", 1, "j", "m")
    return bench


def body(verb: str, **changes: Any) -> bytes:
    """A verb's request as JSON, with some fields changed."""
    return json.dumps({**ASKS[verb], **changes}).encode()


@pytest.mark.parametrize("verb", VERBS)
def test_the_sample_requests_are_well_formed(stocked: Bench, verb: str) -> None:
    """Each sample is accepted as a request, so that what the tests below change is all that is wrong."""
    try:
        stocked.raw(verb, body(verb))
    except TesseraError as refusal:
        assert refusal.code in {"not_found", "invalid_state"}  # noqa: PT017 - most are not refused


@pytest.mark.parametrize("verb", VERBS)
def test_a_key_that_does_not_count(stocked: Bench, verb: str) -> None:
    """An unknown, a revoked and an expired key are refused, whatever they ask."""
    everything = {"scopes": ["admin"], "effect_classes": ["read", "write-repo"]}
    revoked, expired = stocked.key(**everything), stocked.key(**everything, days=1)
    stocked.store.revoke_key(stocked.store.keys()[0].key_id)
    stocked.world.pass_seconds(DAY_SECONDS)
    for key in (stocked.store.as_key("nobody's"), revoked, expired):
        for ask in (body(verb), b"no request at all"):
            refused(stocked, "unauthorized", key._door.call, verb, ask)


def test_a_secret_may_be_anything(bench: Bench) -> None:
    """No text makes the look-up of a key fail: it is nobody's."""
    for secret in ("", "tessera_", "é", "\ud800", "x" * 100_000):
        refused(bench, "unauthorized", bench.store.as_key(secret).queues)


@pytest.mark.parametrize("grant", [{}, {"days": 1}])
def test_a_key_counts_to_its_last_microsecond(bench: Bench, grant: dict[str, int]) -> None:
    """A key expires when its days are over, fourteen unless said, and not before."""
    key = bench.key(**grant)
    bench.world.pass_seconds(grant.get("days", 14) * DAY_SECONDS - 0.000001)
    assert [queue.name for queue in key.queues()] == ["q"]
    bench.world.pass_seconds(0.000001)
    refused(bench, "unauthorized", key.queues)


@pytest.mark.parametrize("verb", VERBS)
def test_a_body_that_is_no_request(stocked: Bench, verb: str) -> None:
    """What is no JSON object in UTF-8 is refused by every verb, however long or deep it is."""
    for raw in NO_REQUESTS:
        refused(stocked, "invalid_request", stocked.raw, verb, raw)


@pytest.mark.parametrize("verb", VERBS)
def test_a_field_too_many_or_too_few(stocked: Bench, verb: str) -> None:
    """A field that the verb does not know is refused, and so is the lack of one that has no default."""
    refusal = refused(stocked, "invalid_request", stocked.raw, verb, body(verb, spare=None))
    assert "'spare'" in refusal.detail
    for field in msgspec.structs.fields(SURFACE[verb].ask):
        if field.required:
            ask = {name: value for name, value in ASKS[verb].items() if name != field.name}
            refusal = refused(stocked, "invalid_request", stocked.raw, verb, json.dumps(ask).encode())
            assert f"'{field.name}'" in refusal.detail


@pytest.mark.parametrize("verb", VERBS)
def test_fields_of_any_type(stocked: Bench, verb: str) -> None:
    """Whatever JSON a field holds, the verb answers or refuses with a code of its own, and breaks nowhere."""
    for field in SURFACE[verb].ask.__struct_fields__:
        for value in OF_ANY_TYPE:
            before = dump(stocked.path)
            try:
                answer = stocked.raw(verb, body(verb, **{field: value}))
            except TesseraError as refusal:
                assert refusal.code in REFUSALS[verb]  # noqa: PT017 - some values are accepted
                assert dump(stocked.path) == before
            else:
                assert isinstance(answer, msgspec.Struct)


def test_a_closed_store(bench: Bench) -> None:
    """A store that was closed says that it cannot answer, whatever it is asked."""
    bench.store.close()
    for verb in VERBS:
        refused(bench, "unavailable", bench.raw, verb, body(verb))
    bench.reopened()


@pytest.mark.parametrize("verb", ["enqueue", "heartbeat", "submit", "cancel", "issue_key"])
def test_what_nobody_foresaw(stocked: Bench, caplog: pytest.LogCaptureFixture, verb: str) -> None:
    """A store whose file lost a table answers `internal` without a word of why, and keeps nothing."""
    with caplog.at_level(logging.CRITICAL, "tessera"), closing(apsw.Connection(str(stocked.path))) as file:
        file.execute("alter table events rename to lost")
        refusal = refused(stocked, "internal", stocked.raw, verb, body(verb))
        file.execute("alter table lost rename to events")
    assert refusal.detail == "Something unforeseen happened."


def test_every_code_of_every_verb_is_listed() -> None:
    """The samples and the table of refusals name exactly the verbs of the surface."""
    assert ASKS.keys() == REFUSALS.keys() == SURFACE.keys()
    assert not EVERY_VERB & set().union(*REFUSALS.values())
