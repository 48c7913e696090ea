"""The tools of `/mcp`, as the official client meets them."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from service.running import Aside, Running, serving
from service.tools import (
    HANDSHAKE,
    MODES,
    SEVEN,
    STATELESS,
    call,
    good,
    hold,
    of,
    post,
    refused,
    session,
    talk,
)

import tessera

TOKEN_BYTES = 4


@pytest.mark.parametrize("headers", [{}, {"mcp-session-id": "any"}])
@pytest.mark.parametrize("mode", [*MODES, "auto"])
def test_h04_a_client_lists_claims_and_submits(service: Running, mode: str, headers: dict[str, str]) -> None:
    """H04: in every revision, with a session's id or without, a client finds seven tools and uses them."""
    queue = service.queue(f"all-{len(mode)}-{len(headers)}")
    task_id = service.enqueue(queue, brief={"do": "it"})

    async def act(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == SEVEN
        if mode == HANDSHAKE:
            with pytest.warns(MCPDeprecationWarning):
                await client.send_ping()
        if mode != STATELESS:  # a client that is told the revision does not ask who it talks to
            assert "claim" in str(client.instructions)
        assert queue in [one["name"] for one in good(await client.call_tool("queues", {}))["queues"]]
        lease = good(await client.call_tool("claim", {"queue": queue, "worker": "w"}))["lease"]
        assert (lease["task_id"], lease["brief"]) == (task_id, {"do": "it"})
        kept = good(await client.call_tool("heartbeat", of(lease)))
        assert kept["fencing_token"] == lease["fencing_token"]
        ended = of(lease, output=[1], idempotency_key=f"{task_id}:{lease['fencing_token']}")
        receipt = good(await client.call_tool("submit", ended))
        assert (receipt["state"], receipt["replayed"]) == ("done", False)
        assert good(await client.call_tool("submit", ended)) == {**receipt, "replayed": True}

    talk(service, act, mode, **headers)


@pytest.mark.parametrize("mode", MODES)
def test_work_is_split_parked_and_resumed(service: Running, mode: str) -> None:
    """A split's children come back on their parent's lease, a park's answer on the next one."""
    lease = hold(service, f"parts-{mode}")

    async def act(client: Client) -> None:
        async def run(tool: str, **given: Any) -> Any:
            return good(await client.call_tool(tool, given))

        made = await run("split", **of(lease, children=[{"brief": {"n": 1}}]))
        child = (await run("claim", queue=f"parts-{mode}", worker="w"))["lease"]
        assert made == {"children": [child["task_id"]]}
        await run("submit", **of(child, output="part", idempotency_key=child["task_id"]))
        parent = (await run("claim", queue=f"parts-{mode}", worker="w"))["lease"]
        assert [one["output"] for one in parent["children"]] == ["part"]
        assert (await run("park", **of(parent, reason="may I?")))["wait_reason"] == "input"

    talk(service, act, mode)
    other = service.key(effect_classes=["read"])
    assert good(call(service, "resume", mode=mode, key=other, task_id=lease["task_id"], input="do"))
    again = good(call(service, "claim", mode=mode, queue=f"parts-{mode}", worker="w"))["lease"]
    assert [one["input"] for one in again["inputs"]] == ["do"]


@pytest.mark.parametrize("mode", MODES)
def test_h06_an_empty_claim_is_an_answer(service: Running, mode: str) -> None:
    """H06: without work, a claim's result is a null lease and when to come back, and no error."""
    service.queue("nothing")
    assert good(call(service, "claim", mode=mode, queue="nothing", worker="w")) == {
        "lease": None,
        "retry_after_seconds": 30,
    }


@pytest.mark.parametrize("mode", MODES)
def test_an_idle_agent_waits_inside_one_call(service: Running, mode: str) -> None:
    """A claim with `wait_seconds` is answered when a task comes, long before its time is up."""
    queue = service.queue(f"idle-{mode}")
    start = time.monotonic()
    aside = Aside(call, service, "claim", mode=mode, queue=queue, worker="w", wait_seconds=25)
    time.sleep(0.2)
    task_id = service.enqueue(queue)
    assert good(aside.result())["lease"]["task_id"] == task_id
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("mode", MODES)
def test_a_lost_answer_costs_nothing(service: Running, mode: str) -> None:
    """The same idempotency key gives the same lease again, and the task counts one attempt."""
    queue = service.queue(f"lost-{mode}")
    service.enqueue(queue)
    given = {"queue": queue, "worker": "w", "idempotency_key": f"claim-{mode}"}
    first, again = (good(call(service, "claim", mode=mode, **given))["lease"] for _ in range(2))
    assert first == again
    assert again["attempts"] == 1


def test_h02_a_client_that_gives_up_in_the_middle_may_try_again(service: Running) -> None:
    """H02: a submit cancelled while the store is locked is stored once at most, its retry answered."""
    lease = hold(service, "locked")
    ended = of(lease, output=1, idempotency_key="mine")

    async def act(client: Client) -> Any:
        import apsw

        other = apsw.Connection(str(service.store))
        other.execute("begin immediate")
        try:
            with pytest.raises((TimeoutError, MCPError)):
                await asyncio.wait_for(client.call_tool("submit", ended), 1)
        finally:
            other.execute("rollback")
            other.close()
        return good(await client.call_tool("submit", ended))

    for mode in MODES:
        assert talk(service, act, mode)["state"] == "done"
    with tessera.open(str(service.store)) as store:
        assert len(store.results(lease["task_id"])) == 1


def test_who_hangs_up_while_waiting_claims_nothing(service: Running) -> None:
    """A task that comes after its waiting client has gone stays ready."""
    queue = service.queue("gone")

    async def act(client: Client) -> None:
        given = {"queue": queue, "worker": "w", "wait_seconds": 20}
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.call_tool("claim", given), 0.5)

    talk(service, act)
    service.enqueue(queue)
    time.sleep(0.3)  # in which a claim that still waited would take it
    assert service.get("/v1/counts").json["queues"][queue]["ready"] == 1


def test_eight_clients_share_two_hundred_tasks(service: Running) -> None:
    """Of 200 tasks each goes to one of eight racing clients, of both generations, and ends once."""
    queue = service.queue("race")
    service.post("/v1/tasks/batch", {"tasks": [{"queue": queue, "kind": "k", "brief": {}}] * 200})
    ended: list[str] = []

    async def act(client: Client) -> None:
        while True:
            lease = good(await client.call_tool("claim", {"queue": queue, "worker": "w"}))["lease"]
            if lease is None:
                return
            done = of(lease, output=1, idempotency_key=f"{lease['task_id']}:{lease['fencing_token']}")
            assert not good(await client.call_tool("submit", done))["replayed"]
            ended.append(lease["task_id"])

    async def all_of_them() -> None:
        await asyncio.gather(*(session(service, act, MODES[n % 2]) for n in range(8)))

    asyncio.run(all_of_them())
    assert (len(ended), len(set(ended))) == (200, 200)
    assert service.get("/v1/counts?recount=true").json["agree"]


def test_each_request_has_the_rights_of_its_own_key(service: Running) -> None:
    """Two keys at the same time: each claims its own queue and is refused the other's, in every call."""
    names = [service.queue("mine-a"), service.queue("mine-b")]
    keys = [service.key(queues=[name]) for name in names]

    async def act(own: str, other: str, key: str) -> None:
        async def calls(client: Client) -> None:
            for _ in range(20):
                assert good(await client.call_tool("claim", {"queue": own, "worker": "w"}))["lease"] is None
                denied = refused(await client.call_tool("claim", {"queue": other, "worker": "w"}))
                assert denied["code"] == "forbidden"

        await session(service, calls, key=key)

    async def both() -> None:
        await asyncio.gather(act(*names, keys[0]), act(*reversed(names), keys[1]))

    asyncio.run(both())


def test_the_list_is_small(service: Running) -> None:
    """The seven tools cost a model under 2,000 tokens, with what they give under 4,000."""
    tools = post(service, "tools/list").json["result"]["tools"]
    whole = len(json.dumps(tools, separators=(",", ":")))
    taken = [{name: part for name, part in tool.items() if name != "outputSchema"} for tool in tools]
    assert len(json.dumps(taken, separators=(",", ":"))) < 2_000 * TOKEN_BYTES
    assert whole < 4_000 * TOKEN_BYTES
    assert all(tool["description"] and tool["title"] for tool in tools)


def test_a_turn_is_small(service: Running) -> None:
    """What a model reads for one claim and one submit, beside brief and output, is under 600 tokens."""
    lease = hold(service, "small")
    claimed = call(service, "claim", queue="small", worker="w")
    ended = call(service, "submit", **of(lease, idempotency_key="small"))
    read = json.dumps({"lease": lease}) + claimed.content[0].text + ended.content[0].text
    assert len(read) < 600 * TOKEN_BYTES


@pytest.mark.parametrize("mode", MODES)
def test_a_brief_that_nests_deeper_than_the_protocol_is_read_in_the_text(service: Running, mode: str) -> None:
    """Of a lease whose brief nests 450 levels the text holds everything, and no lease is lost to it."""
    deep = json.loads('{"a":' * 450 + "1" + "}" * 450)
    service.enqueue(service.queue(f"deep-{mode}"), brief=deep)
    result = call(service, "claim", mode=mode, queue=f"deep-{mode}", worker="w")
    assert not result.is_error
    assert json.loads(result.content[0].text)["lease"]["brief"] == deep


def test_the_wide_set_hands_out_work(tmp_path: Any) -> None:
    """With TESSERA_MCP_TOOLS=all a client enqueues, looks, waits, cancels, and shares records and feeds."""
    with serving(tmp_path, TESSERA_MCP_TOOLS="all") as service:
        service.queue("wide")

        async def act(client: Client) -> None:
            async def run(tool: str, **given: Any) -> Any:
                return good(await client.call_tool(tool, given))

            names = [tool.name for tool in (await client.list_tools()).tools]
            assert set(SEVEN) < set(names)
            made = [
                (await run("enqueue", queue="wide", kind="k", brief={"n": n}))["task_id"] for n in (1, 2, 3)
            ]
            lease = (await run("claim", queue="wide", worker="w"))["lease"]
            await run("submit", **of(lease, output="o", idempotency_key="i"))
            assert (await run("task", task_id=made[0], wait=25))["state"] == "done"
            assert [one["output"] for one in (await run("results", task_id=made[0]))["results"]] == ["o"]
            given_back = (await run("claim", queue="wide", worker="w"))["lease"]
            assert (await run("release", **of(given_back)))["state"] == "ready"
            assert (await run("cancel", task_id=made[2], reason="late"))["state"] == "cancelled"
            assert (await run("put_record", store="notes", key="a", value=1))["version"] == 1
            assert (await run("get_record", store="notes", key="a"))["value"] == 1
            assert len((await run("list_records", store="notes"))["records"]) == 1
            assert len((await run("record_history", store="notes", key="a"))["versions"]) == 1
            found = (await run("search_nouns", query="notes a", store="notes"))["nouns"]
            assert [one["ref"] for one in found] == ["notes/a"]
            assert (await run("noun", place="notes", key="a"))["version"] == 1
            assert (await run("read_noun", place="notes", key="a"))["text"] == "1"
            reflex = {"trigger": "tidy up", "step": {"run": "make tidy"}}
            await run("put_record", store="tessera.reflexes", key="tidy", value=reflex)
            assert (await run("match_reflex", query="tidy up"))["matches"][0]["step"] == {"run": "make tidy"}
            assert (await run("publish_feed", feed="news", payload=[1]))["cursor"] == 1
            assert [one["payload"] for one in (await run("poll_feed", feed="news"))["items"]] == [[1]]
            assert [one["feed"] for one in (await run("feeds"))["feeds"]] == ["news"]

        talk(service, act, STATELESS)
