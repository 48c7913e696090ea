"""The clients have the library's verbs: the same names, the same signatures, the same answers."""

from __future__ import annotations

import asyncio
import inspect
import io
from typing import Any

import pytest

import tessera
from tessera import models
from tessera.client.verbs import AsyncVerbs
from tessera.errors import Forbidden, InvalidRequest, StaleLease, Unauthorized
from tessera.library import Tessera
from tessera.library.upkeep import UpkeepVerbs
from tessera.surface import SURFACE


def verbs(kind: type) -> dict[str, inspect.Signature]:
    """The methods of a class that are verbs: not its own making, nor what only an owner at hand does."""
    others = {"as_key", "close", "door", *vars(UpkeepVerbs)}
    return {
        name: inspect.signature(method)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in others
    }


def test_the_async_verbs_are_the_library_s() -> None:
    """Every method of `Tessera` is there to be awaited, with the same signature, and no other."""
    assert verbs(AsyncVerbs) == verbs(Tessera)
    assert all(inspect.iscoroutinefunction(getattr(AsyncVerbs, name)) for name in verbs(Tessera))
    assert SURFACE.keys() <= verbs(Tessera).keys()


def test_a_client_is_a_store() -> None:
    """Whatever takes a store takes a client."""
    assert issubclass(tessera.Client, Tessera)


async def story(store: Any, owner: Tessera, queue: str) -> list[Any]:
    """What happens to a few tasks of a queue, told by the answers, whoever is asked."""

    async def ask(verb: str, *args: Any, **fields: Any) -> Any:
        answer = getattr(store, verb)(*args, **fields)
        return await answer if inspect.isawaitable(answer) else answer

    told = [await ask("define_queue", queue, backoff_base_seconds=0)]
    assert queue in [one.name for one in await ask("queues")]
    ids = await ask("enqueue_batch", [{"queue": queue, "kind": "k", "brief": {"n": n}} for n in range(4)])
    told.append(len(ids))
    lease = await ask("claim", queue, "w", ["k"], wait_seconds=1)
    handle = lease.task_id, lease.fencing_token
    told += [lease.brief, (await ask("heartbeat", *handle)).brief]
    told.append((await ask("register_job", *handle, f"job-{queue}", "model-1")).status)
    told.append((await ask("update_job", f"job-{queue}", "completed", {"tokens": 3}, 0.5)).cost_usd)
    told.append([job.model for job in (await ask("jobs", lease.task_id)).jobs])
    told.append((await ask("submit", *handle, {"ok": [1.5, None, "ü"]}, f"key-{queue}")).state)
    told += [result.output for result in await ask("results", lease.task_id)]
    two, three = await ask("claim_batch", queue, "w", 2)
    told.append(len(await ask("split", two.task_id, two.fencing_token, [{"brief": {}}])))
    await ask("park", three.task_id, three.fencing_token, "why", input_schema={"type": "boolean"})
    told.append((await ask("task", three.task_id)).park_reason)
    told.append((await ask("resume", three.task_id, True, 1)).state)
    four = await ask("claim", queue, "w")
    told.append((await ask("release", four.task_id, four.fencing_token)).state)
    for task in (await ask("tasks", queue, "ready", limit=10)).tasks:
        told.append((await ask("cancel", task.task_id, "enough")).state)
    told.append((await ask("counts", True)).queues[queue])
    told.append((await ask("health")).queues[queue].ready)
    told.append([event.type for event in await ask("events", limit=10_000) if event.queue == queue])
    receipts = await ask(
        "submit_batch",
        [
            {"task_id": ids[0], "fencing_token": 1, "idempotency_key": f"key-{queue}"},
            {"task_id": "nobody", "fencing_token": 1, "idempotency_key": "k"},
        ],
    )
    told += [receipts[0].replayed, receipts[1].code]
    told += await _documents_and_bytes(ask, queue)
    await ask("pause_queue", queue)
    told.append((await ask("resume_queue", queue)).paused)
    return told


def test_each_tells_the_same_story(service, key, owner) -> None:
    """The library, the client and the client for event loops answer alike, verb for verb."""

    async def remotely() -> list[Any]:
        async with tessera.AsyncClient(service.url, key) as client:
            return await story(client, owner, "async")

    with tessera.Client(service.url, key) as client:
        told = asyncio.run(story(client, owner, "sync"))
    local = asyncio.run(story(owner, owner, "local"))

    for one in (told, asyncio.run(remotely())):
        assert one[1:] == local[1:]
        assert models.QueueConfig(**{**_fields(one[0]), "name": "local"}) == local[0]


async def _documents_and_bytes(ask: Any, name: str) -> list[Any]:
    """The same for records, feeds, blobs and objects."""
    data = bytes(range(256)) * 20
    sha256 = await ask("put_blob", io.BytesIO(data))
    told = [sha256, (await ask("blob_meta", sha256)).size, await ask("get_blob", sha256) == data]
    told += [await ask("get_blob", sha256, 10, 14), await ask("get_blob", sha256, -2)]
    meta = await ask("put_object", "nouns", name, data, content_type="text/plain")
    told += [meta.version, meta.content_type, await ask("get_object", "nouns", name, start=5, stop=7)]
    content = await ask("object_content", "nouns", name, 1)
    told += [
        content.bucket,
        content.key == name,
        content.version,
        content.size,
        content.created_at == meta.created_at,
    ]
    told.append([one.size for one in (await ask("list_objects", "nouns", name)).objects])
    told.append((await ask("put_record", "facts", name, {"n": None})).version)
    told.append([one.version for one in await ask("put_records", [
        {"store": "facts", "key": name, "value": None, "expected_version": 1}
    ])])  # fmt: skip
    told.append((await ask("get_record", "facts", name, 1)).value)
    told.append([one.value for one in (await ask("record_history", "facts", name)).versions])
    [found] = await ask("search_nouns", name, "facts")
    told += [found.ref == f"facts/{name}", found.version, found.score]
    told += [
        (await ask("noun", f"facts/{name}")).version,
        (await ask("read_noun", f"facts/{name}", 1, 2)).text,
    ]
    await ask("put_record", "tessera.reflexes", name, {"trigger": f"what {name} does", "step": [1]})
    recalled = await ask("match_reflex", f"what {name} does")
    told += [recalled.matches[0].step, recalled.matches[0].exact, recalled.warnings]
    told.append((await ask("publish_feed", f"feed-{name}", {"n": 1})).cursor)
    page = await ask("poll_feed", f"feed-{name}", 0, wait_seconds=1)
    told += [[item.payload for item in page.items], page.next]
    for refused in (("put_record", "facts", name, 1, 1), ("put_object", "nouns", name, b"")):
        try:
            await ask(*refused)
        except tessera.TesseraError as refusal:
            told += [refusal.code, refusal.extra["current_version"]]
    return told


def _fields(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.__struct_fields__}


def test_refusals_are_the_library_s_classes(client, owner) -> None:
    """A refusal of the service is raised as the class it has in the library, with its code and text."""
    owner.define_queue("mine")
    task_id = owner.enqueue(queue="mine", kind="k", brief={})
    other = client.as_key(owner.issue_key(queues=["other"]).key)

    with pytest.raises(StaleLease) as stale:
        client.heartbeat(task_id, 7)
    with pytest.raises(Forbidden):
        other.task(task_id)
    with pytest.raises(InvalidRequest, match="kind"):
        client.enqueue(queue="mine", kind="No Kind", brief={})
    assert (stale.value.code, stale.value.status, stale.value.definite) == ("stale_lease", 409, True)
    assert stale.value.detail == StaleLease.__doc__


@pytest.mark.parametrize("task_id", ["", "a/b", "..", "?", "%2e", "ü", "x" * 200, 5, None])
def test_ids_that_are_none_are_refused_as_the_library_does(client, owner, task_id) -> None:
    """Whatever stands where an id belongs is refused with the code that a store at hand gives."""
    with pytest.raises(tessera.TesseraError) as local:
        owner.task(task_id)
    with pytest.raises(tessera.TesseraError) as remote:
        client.task(task_id)
    assert remote.value.code == local.value.code


def test_without_a_key_there_is_health(service) -> None:
    """A client without a key may ask for health, and is told 401 about all else."""
    with tessera.Client(service.url) as client:
        assert client.health().db_ok
        with pytest.raises(Unauthorized):
            client.counts()


def test_what_is_for_the_store_s_machine_stays_there(client) -> None:
    """Approving a `public` key is refused before anything is sent."""
    with pytest.raises(InvalidRequest, match="the store's own machine"):
        client.issue_approval(queues=["q"], effect_classes=["public"])


def test_a_claim_waits_for_its_task(client, owner) -> None:
    """A waiting claim gets the task that is enqueued while it waits."""
    owner.define_queue("later")

    async def both() -> models.Lease | None:
        waiting = asyncio.create_task(asyncio.to_thread(client.claim, "later", "w", wait_seconds=20))
        while "later" not in (await asyncio.to_thread(owner.counts)).queues:
            await asyncio.sleep(0)
        await asyncio.to_thread(client.enqueue, queue="later", kind="k", brief={"n": 1})
        return await waiting

    lease = asyncio.run(both())
    assert lease is not None
    assert lease.brief == {"n": 1}


@pytest.mark.parametrize("near", [True, False])
def test_a_task_s_end_is_waited_for(client, owner, near) -> None:
    """A look that waits answers when the task has ended, and with the task as it is when the time is over."""
    owner.define_queue("ends")
    task_id = owner.enqueue(queue="ends", kind="k", brief={})
    store = owner if near else client
    assert store.task(task_id, wait_seconds=0.01).state == "ready"

    async def both() -> models.TaskView:
        looking = asyncio.create_task(asyncio.to_thread(store.task, task_id, wait_seconds=20))
        await asyncio.to_thread(owner.cancel, task_id, "enough")
        return await looking

    assert asyncio.run(both()).state == "cancelled"


def test_upkeep_stays_on_the_store_s_machine(client, tmp_path) -> None:
    """Verifying and copying a store through a client is refused, and nothing is written."""
    with pytest.raises(InvalidRequest, match="the store's own machine"):
        client.verify()
    with pytest.raises(InvalidRequest, match="the store's own machine"):
        client.backup(tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_client_says_so(service, key) -> None:
    """After `close` nothing is sent, and the refusal is definite."""
    client = tessera.Client(service.url, key)
    client.close()

    with pytest.raises(tessera.TesseraError, match="closed") as refusal:
        client.counts()
    assert (refusal.value.code, refusal.value.definite) == ("unavailable", True)
