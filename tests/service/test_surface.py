"""Every row of the surface, through the service: reachable, with its status, for whom it is meant."""

from __future__ import annotations

import msgspec
import pytest
from service.running import Running
from service.stage import ASKS, ROWS, Stage, ask

WITHOUT_KEY = {"health"}
ADMIN = {name for name, row in ROWS.items() if row.needs == "admin"}
ANY_KEY = {name for name, row in ROWS.items() if row.needs.startswith("any key")}
STORE = {name for name, row in ROWS.items() if row.needs == "key with store scope"}
AGENT = {name for name, row in ROWS.items() if row.needs.startswith("key with scope agent:runtime")}
WORKSPACE = {name for name, row in ROWS.items() if row.needs == "admin, or a key of the workspace"}
HOLDER = {name for name, row in ROWS.items() if row.needs.startswith("the key that claimed")}


@pytest.mark.parametrize("name", ROWS)
def test_answers_whom_it_is_for(service: Running, name: str) -> None:
    """A row answers its status and its model to a key that has what the row needs."""
    stage, row = Stage(service), ROWS[name]
    if name in AGENT:
        stage.lite_ready()
    key = stage.worker_key if name in HOLDER | AGENT | {"claim", "claim_batch"} else service.admin

    reply = ask(stage, row, key)

    assert reply.status == row.status, reply.body
    assert reply.headers["x-content-type-options"] == "nosniff"
    if row.answer_body == "bytes":
        assert reply.body
        return
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["cache-control"] == "no-store"
    fields = msgspec.structs.fields(row.answer)
    tag = {row.answer.__struct_config__.tag_field} - {None}
    names = {one.name for one in fields if one.required} | tag, {one.name for one in fields} | tag
    assert names[0] <= reply.json.keys() <= names[1]


@pytest.mark.parametrize("name", ROWS)
def test_needs_a_key(service: Running, name: str) -> None:
    """Without a key, and with a wrong one, a row is `unauthorized`, before it looks at what is asked; only
    health is for everybody.
    """
    path = (ROWS[name].path or "").replace("{", "").replace("}", "")
    without = service.call(ROWS[name].method, path, key=None)
    wrong = service.call(ROWS[name].method, path, key="tessera_none")

    if name in WITHOUT_KEY:
        assert (without.status, wrong.status) == (200, 200)
        return
    assert (without.status, without.code) == (401, "unauthorized")
    assert without.headers["www-authenticate"] == "Bearer"
    assert wrong.code in ("unauthorized", "rate_limited")


@pytest.mark.parametrize("name", sorted(ADMIN))
def test_operators_rows_need_an_admin_key(service: Running, name: str) -> None:
    """What only operators may do is `scope_denied` to a key that covers everything else."""
    stage = Stage(service)

    reply = ask(stage, ROWS[name], service.key(effect_classes=["read", "write-internal"]))

    assert (reply.status, reply.code) == (403, "scope_denied")


@pytest.mark.parametrize("name", sorted(STORE))
def test_the_stores_rows_need_its_scope(service: Running, name: str) -> None:
    """What belongs to the store is `forbidden` to a key without the store scope, admin or not."""
    stage = Stage(service)

    for scopes in ([], ["admin"]):
        reply = ask(stage, ROWS[name], service.key(scopes=scopes))
        assert (reply.status, reply.code) == (403, "forbidden")


@pytest.mark.parametrize(
    "name", sorted(set(ROWS) - ADMIN - ANY_KEY - STORE - AGENT - WORKSPACE - WITHOUT_KEY)
)
def test_another_queues_key_is_forbidden(service: Running, name: str) -> None:
    """A key for another queue is `forbidden` whatever it would do to a task of this one."""
    stage = Stage(service)
    other = service.key(queues=["elsewhere"], scopes=["store"])

    reply = ask(stage, ROWS[name], other)

    if name == "submit_batch":
        (result,) = reply.json["results"]
        assert (result["status"], result["code"]) == (403, "forbidden")
        return
    assert (reply.status, reply.code) == (403, "forbidden")


@pytest.mark.parametrize("name", sorted(HOLDER - {"submit_batch"}))
def test_another_holder_is_denied(service: Running, name: str) -> None:
    """A key that covers the queue but did not claim the lease is `scope_denied`."""
    stage = Stage(service)

    reply = ask(stage, ROWS[name], service.key(queues=[stage.queue]))

    assert (reply.status, reply.code) == (403, "scope_denied")


def test_the_table_is_all_there_is(service: Running) -> None:
    """Every way to ask is a row, and every row with fields is asked for something here."""
    assert set(ASKS) <= set(ROWS)
    for name in set(ROWS) - set(ASKS):
        required = [one for one in msgspec.structs.fields(ROWS[name].ask) if one.required]
        assert required == [], name
