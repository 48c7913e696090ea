"""A process that forks with a client: parent and child each have connections and ids of their own."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from functools import partial

import pytest

import tessera
from tessera import runtime
from tessera.library import Tessera
from tessera.runtime import real_runtime
from tessera.testing import Service

CHILDREN = 4
CALLS = 25


def _in_child(work: Callable[[], str]) -> tuple[int, int]:
    """A forked child that writes what the work says into a pipe; its id, and where to read."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        try:
            said = work()
        except BaseException as error:
            said = repr(error)
        os.write(writes, said.encode())
        os._exit(0)
    os.close(writes)
    return pid, reads


def _said(child: tuple[int, int]) -> str:
    pid, reads = child
    with os.fdopen(reads) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


def test_answers_go_to_who_asked(service: Service, owner: Tessera) -> None:
    """Children that call over their parent's client, and the parent meanwhile, get their own answers each."""
    key = owner.issue_key(scopes=["admin", "store"]).key
    with tessera.Client(service.url, key=key) as client:
        client.queues()  # a connection is open when they are forked

        def calls(name: str) -> str:
            for n in range(CALLS):
                store = f"fork-{name}-{n}"
                assert client.put_record(store, "k", name).store == store
            return "well"

        children = [_in_child(partial(calls, str(place))) for place in range(CHILDREN)]
        assert calls("parent") == "well"
        assert [_said(child) for child in children] == ["well"] * CHILDREN
        assert client.queues() is not None


def test_answers_go_to_who_asked_on_a_loop(service: Service, owner: Tessera) -> None:
    """So do those of children with event loops of their own, over the client that their parent uses on its
    loop.
    """
    key = owner.issue_key(scopes=["admin", "store"]).key
    client = tessera.AsyncClient(service.url, key=key)

    async def calls(name: str) -> str:
        for n in range(CALLS):
            store = f"fork-on-a-loop-{name}-{n}"
            assert (await client.put_record(store, "k", name)).store == store
        return "well"

    async def parent() -> None:
        await client.queues()  # a connection is open when they are forked
        children = [_in_child(lambda n=n: asyncio.run(calls(str(n)))) for n in range(CHILDREN)]
        assert await calls("parent") == "well"
        assert [_said(child) for child in children] == ["well"] * CHILDREN
        assert await client.queues() is not None
        await client.close()

    asyncio.run(parent())


def test_a_closed_client_stays_closed_in_a_child(service: Service) -> None:
    """A child does not open again what its parent has closed."""
    client = tessera.Client(service.url, key="none")
    client.close()

    def ask() -> str:
        with pytest.raises(tessera.TesseraError) as refused:
            client.queues()
        return str(refused.value)

    assert _said(_in_child(ask)) == "the client is closed"


def test_children_draw_ids_of_their_own() -> None:
    """A child draws other ids than its parent and its sisters, though all began with one state."""
    new_id = real_runtime().new_id
    new_id("t_")
    tails = [_said(_in_child(lambda: new_id("t_")[-15:])) for _ in range(CHILDREN)]
    assert len({*tails, new_id("t_")[-15:]}) == CHILDREN + 1
    assert all(isinstance(chance, random.Random) for chance in runtime._chances)
