"""What tools refuse, and what `/mcp` refuses before any tool is asked."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from service.running import HOST, Aside, Running, serving
from service.test_waiting import eventually
from service.tools import ACCEPT, MODES, call, good, hold, of, post, refused, talk

import tessera
from tessera.limits import OUTPUT_BYTES_MAX

ANSWER = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'
NOT_YOURS = {"task_id": "t_none", "fencing_token": 1}


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that lists an origin and a name."""
    listed = {"TESSERA_CORS_ORIGINS": "https://listed.example", "TESSERA_MCP_HOSTS": "named.example"}
    with serving(tmp_path_factory.mktemp("listing"), **listed) as running:
        yield running


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("queues", {"x": 1}), ("claim", {"queue": "q", "worker": "w", "x": 1}), ("claim", {"queue": "q"}),
        ("claim", {"queue": "q", "worker": "w", "wait_seconds": 26}), ("claim", {"queue": 7, "worker": "w"}),
        ("heartbeat", {**NOT_YOURS, "x": 1}), ("submit", NOT_YOURS), ("split", {**NOT_YOURS, "children": []}),
        ("split", {**NOT_YOURS, "children": [{"brief": {}, "x": 1}]}), ("park", NOT_YOURS),
        ("resume", {"task_id": "t_none"}), ("submit", {**NOT_YOURS, "idempotency_key": "a\r\nb"}),
        ("submit", {**NOT_YOURS, "idempotency_key": ""}),
        ("submit", {**NOT_YOURS, "idempotency_key": "k" * 256}),
        ("submit", {**NOT_YOURS, "idempotency_key": "k", "output": 2**60}),
    ],
)  # fmt: skip
def test_h06_wrong_arguments_are_invalid(
    service: Running, mode: str, tool: str, given: dict[str, Any]
) -> None:
    """H06: unknown, missing, wrong and too large arguments are `invalid_request`, in every tool."""
    problem = refused(call(service, tool, mode=mode, **given))
    assert (problem["code"], problem["status"], problem["definite"]) == ("invalid_request", 400, True)


def test_what_was_sent_is_not_repeated(service: Running) -> None:
    """Neither a tool's refusal nor the protocol's repeats a value that was sent."""
    odd = "sesame-9f3"
    replies = [
        post(service, "tools/call", {"name": "claim", "arguments": {"queue": odd + " ", "worker": "w"}}),
        post(service, "tools/call", {"name": "claim", "arguments": {"queue": "q", "effect_classes": [odd]}}),
        post(service, "tools/call", {"name": odd, "arguments": {}}),
        post(service, "tools/call", {"name": [odd]}),
        post(service, "tools/list", {"cursor": {odd: 1}}),
        post(service, "initialize", {"protocolVersion": {odd: odd}}),
        service.post("/mcp", {"jsonrpc": "2.0", "id": {odd: odd}, "method": odd}, headers=ACCEPT),
        service.post("/mcp", b'{"jsonrpc": "' + odd.encode(), headers=ACCEPT),
    ]  # fmt: skip
    assert [reply.status for reply in replies] == [200, 200, 200, 200, 200, 200, 400, 400]
    assert [reply.body for reply in replies if odd.encode() in reply.body] == []


@pytest.mark.parametrize("tool", ["heartbeat", "submit", "split", "park", "resume"])
def test_an_unknown_task_is_not_found(service: Running, tool: str) -> None:
    """Every tool on a task says `not_found` for one that is not there."""
    assert refused(call(service, tool, **_given(tool, NOT_YOURS)))["code"] == "not_found"


@pytest.mark.parametrize("tool", ["heartbeat", "submit", "split", "park"])
def test_an_old_lease_is_stale(service: Running, tool: str) -> None:
    """A holder's tool under an old token is `stale_lease`, says to stop, and changes nothing."""
    lease = hold(service, f"stale-{tool}")
    old = {"task_id": lease["task_id"], "fencing_token": lease["fencing_token"] + 1}
    problem = refused(call(service, tool, **_given(tool, old)))
    assert problem["code"] == "stale_lease"
    assert "Stop" in problem["next"]
    assert service.get("/v1/counts").json["queues"][f"stale-{tool}"]["leased"] == 1


@pytest.mark.parametrize("tool", ["heartbeat", "submit", "split", "park"])
def test_a_lease_of_another_key_is_denied(service: Running, tool: str) -> None:
    """A holder's tool under another key than the one that claimed is `scope_denied`."""
    lease = hold(service, f"theirs-{tool}")
    key = service.key()
    assert refused(call(service, tool, key=key, **_given(tool, of(lease))))["code"] == "scope_denied"


def test_tools_say_what_a_key_does_not_cover(service: Running) -> None:
    """Another queue is `forbidden`, a class that the key lacks `scope_denied`, for claim and resume alike."""
    holder = service.key()
    lease = hold(service, "covered", holder)
    good(call(service, "park", key=holder, **of(lease, reason="?")))
    elsewhere = service.key(queues=[service.queue("elsewhere")])
    assert refused(call(service, "claim", key=elsewhere, queue="covered", worker="w"))["code"] == "forbidden"
    answer = {"task_id": lease["task_id"], "input": 1}
    assert refused(call(service, "resume", key=elsewhere, **answer))["code"] == "forbidden"
    assert refused(call(service, "resume", key=holder, **answer))["code"] == "forbidden"  # its own park
    claimed = call(service, "claim", key=elsewhere, queue="elsewhere", worker="w", effect_classes=["public"])
    assert refused(claimed)["code"] == "scope_denied"


def test_tools_say_what_is_past(service: Running) -> None:
    """Resuming what does not wait is `invalid_state`; another task's key a conflict."""
    first, second = hold(service, "past-1"), hold(service, "past-2")
    other = service.key()
    given = {"task_id": first["task_id"], "input": 1}
    assert refused(call(service, "resume", key=other, **given))["code"] == "invalid_state"
    good(call(service, "submit", **of(first, idempotency_key="past")))
    conflict = refused(call(service, "submit", **of(second, idempotency_key="past")))
    assert conflict["code"] == "idempotency_conflict"
    assert first["task_id"] not in json.dumps(conflict)


def test_a_quota_says_when_to_come_back(tmp_path: Path) -> None:
    """A claim beyond the operator's quota is `rate_limited` and says after how many seconds."""
    with serving(tmp_path, TESSERA_CLAIMS_PER_MINUTE="1") as service:
        service.queue("q")
        good(call(service, "claim", queue="q", worker="w"))
        problem = refused(call(service, "claim", queue="q", worker="w"))
        assert problem["code"] == "rate_limited"
        assert problem["retry_after_seconds"] > 0


def test_a_stopping_service_lets_go_of_who_waits(own: Running) -> None:
    """A waiting claim is told `unavailable` when the service stops, and the service ends well."""
    own.queue("q")
    params = {"name": "claim", "arguments": {"queue": "q", "worker": "w", "wait_seconds": 25}}
    post(own, "tools/list")
    aside = Aside(post, own, "tools/call", params)
    time.sleep(0.5)  # until it waits
    assert own.stop() == 0
    reply = aside.result()
    assert json.loads(reply.json["result"]["content"][0]["text"])["code"] == "unavailable"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
def test_only_post_is_answered(service: Running, method: str) -> None:
    """`/mcp` keeps no stream open and no session: every other method is 405 and names POST."""
    reply = service.call(method, "/mcp")
    assert (reply.status, reply.headers["allow"]) == (405, "POST, OPTIONS")


def test_no_key_no_answer(service: Running) -> None:
    """Without a key, with a wrong one, with one in the query, and with a revoked one: 401."""
    assert post(service, "tools/list", key="wrong").code == "unauthorized"
    assert service.post("/mcp", {}, key=None).code == "unauthorized"
    assert service.post(f"/mcp?token={service.admin}", {}).code == "unauthorized"
    with tessera.open(str(service.store)) as store:
        issued = store.issue_key()
        assert post(service, "tools/list", key=issued.key).status == 200
        params = {"name": "queues", "arguments": {}}
        assert post(service, "tools/call", params, key=issued.key).status == 200
        service.post(f"/v1/admin/keys/{issued.grant.key_id}/revoke", {})
    assert post(service, "tools/call", params, key=issued.key).code == "unauthorized"
    assert post(service, "tools/list", key=issued.key).code == "unauthorized"


def test_bodies_are_what_they_should_be(service: Running) -> None:
    """Other types, compression, batches, answers and nonsense are refused; a notification is taken."""
    said = ACCEPT | {"content-type": "application/json"}
    assert service.post("/mcp", b"{}", headers={"content-type": "text/plain"}).status == 415
    assert service.post("/mcp", b"{}", headers=said | {"content-encoding": "gzip"}).status == 415
    assert service.post("/mcp", {}, headers={"accept": "text/html"}).code == "invalid_request"
    codes = [
        service.post("/mcp", body, headers=said).json["error"]["code"]
        for body in (b"", b"{", b'{"a": NaN}', b"[]", b"[{}]", b"{}", ANSWER)
    ]  # fmt: skip
    assert codes == [-32700, -32700, -32700, -32600, -32600, -32600, -32600]
    deep = b'{"params": {"a": %s%s}}' % (b"[" * 9_000, b"]" * 9_000)
    lone = "a lone surrogate is no Unicode text (byte 7)"
    for body, why in ((rb'{"a": "\ud800"}', lone), (deep, "the body is nested too deeply")):
        error = service.post("/mcp", body, headers=said).json["error"]
        assert (error["code"], error["message"]) == (-32700, why)
    noted = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = service.post("/mcp", noted, headers=said)
    assert (reply.status, reply.body) == (202, b"")
    assert post(service, "resources/list").json["error"]["code"] == -32601
    assert post(service, "tools/list", mcp_protocol_version="1999-01-01").status == 400


@pytest.mark.parametrize("mode", MODES)
def test_i15_a_limit_is_the_same_as_over_http(service: Running, mode: str) -> None:
    """I15: an output of exactly 1 MiB of canonical text, in whatever characters, is stored; more is not."""
    lease = hold(service, f"limit-{mode}")
    room = OUTPUT_BYTES_MAX - 2 - 3 * (OUTPUT_BYTES_MAX // 3 - 1)  # what fills up to the limit, beside quotes
    output = "€" * (OUTPUT_BYTES_MAX // 3 - 1) + "x" * room
    over = call(service, "submit", mode=mode, **of(lease, output=output + "x", idempotency_key=mode))
    assert refused(over)["code"] == "invalid_request"
    good(call(service, "submit", mode=mode, **of(lease, output=output, idempotency_key=mode)))


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_there_is_nothing_to_subscribe_to(service: Running, revision: str) -> None:
    """Who asks to be told of changes is told at once, under its id, that there is no such method."""
    about = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": about}
    named = {"mcp_protocol_version": revision, "mcp_method": "subscriptions/listen"}
    reply = post(service, "subscriptions/listen", params, **named)

    assert reply.status == 404
    assert (reply.json["id"], reply.json["error"]["code"]) == (1, -32601)


def test_an_unknown_tool_is_a_fault_of_the_protocol(service: Running) -> None:
    """A tool that is not offered, also one of the wide set, is -32602, not a result."""

    async def act(client: Client) -> None:
        for tool in ("nothing", "enqueue"):
            with pytest.raises(MCPError, match="no such tool"):
                await client.call_tool(tool, {})

    talk(service, act)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200), ({"host": "localhost:1"}, 200), ({"host": "[::1]:1"}, 200), ({"host": "127.0.0.1"}, 200),
        ({"host": "evil.example"}, 403), ({"host": "localhost.evil.example"}, 403),
        ({"host": "10.0.0.1"}, 403),
        ({"origin": "http://localhost:6274"}, 200), ({"origin": "https://listed.example"}, 200),
        ({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403),
        ({"origin": "http://10.0.0.1"}, 403),
        ({"origin": "https://listed.example.evil"}, 403), ({"origin": "file://localhost"}, 403),
        ({"host": "named.example"}, 200),
    ],
)  # fmt: skip
def test_h16_pages_of_elsewhere_stay_outside(listing: Running, headers: dict[str, str], status: int) -> None:
    """H16: a good key does not let a page of another origin in, nor one that has its name point here."""
    reply = post(listing, "tools/list", **headers)
    assert reply.status == status
    if status == 403:
        assert reply.code == "forbidden"


def test_h11_keys_in_arguments_come_back_nowhere(service: Running) -> None:
    """H11: the caller's key in an argument is refused; no answer, event or log has it."""
    key = service.key()
    hidden = {"name": "claim", "arguments": {"queue": "q", "worker": key, "api_key": key}}
    assert post(service, "tools/call", hidden, key=key).code == "invalid_request"
    assert post(service, key, {key: key}, key=key).code == "invalid_request"
    good(call(service, "queues", key=key))
    events = service.get("/v1/events?limit=10000").body
    everything = [*service.seen, events, service.log.read_bytes()]
    assert [one for one in everything if key[:16].encode() in one] == []


def test_h01_half_a_message_has_no_effect(service: Running) -> None:
    """H01: clients that leave in the middle of their body leave nothing behind, and others are answered."""
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: {HOST}\r\nauthorization: Bearer {service.admin}\r\n"
        "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    )
    for _ in range(50):
        service.raw(head.encode() + b'{"jsonrpc"').close()
    assert post(service, "tools/list").status == 200
    connections = f"/proc/{service.process.pid}/fd"
    eventually(lambda: len(os.listdir(connections)) < 40)


def test_a_service_without_the_sdk_says_what_to_install(tmp_path: Path) -> None:
    """Where the extra is missing, /mcp is 404 with a hint, and everything else is answered."""
    (tmp_path / "none" / "mcp").mkdir(parents=True)
    (tmp_path / "none" / "mcp" / "__init__.py").write_text("raise ImportError('not here')")
    with serving(tmp_path, PYTHONPATH=str(tmp_path / "none")) as service:
        for _ in range(2):
            reply = post(service, "tools/list")
            assert reply.code == "not_found"
            assert "tessera-swarm[mcp]" in reply.json["detail"]
        assert service.get("/v1/queues").status == 200
        assert service.stop() == 0


def _given(tool: str, lease: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a tool for this lease."""
    more: dict[str, dict[str, Any]] = {
        "submit": {"idempotency_key": f"k-{lease['task_id']}"}, "split": {"children": [{"brief": {}}]},
        "park": {"reason": "?"},
    }  # fmt: skip
    if tool == "resume":
        return {"task_id": lease["task_id"], "input": 1}
    return {**lease, **more.get(tool, {})}
