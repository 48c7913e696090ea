"""A process that forks: the child may not use its parent's store, and does it no harm."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable

import pytest
from storage.forked import Child, holds, put

import tessera
from tessera.errors import TesseraError
from tessera.library import Tessera

ACTS: dict[str, Callable[[Tessera], object]] = {
    "verb": lambda store: put(store),
    "look": lambda store: store.counts(),
    "key": lambda store: store.as_key("secret").queues(),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("used", [False, True], ids=["unused", "used"])
def test_a_child_is_refused_its_parent_s_store(path: str, act: str, used: bool) -> None:
    """Verbs, looks and keys answer `unavailable`, definitely undone, and say what to do; at once, however
    often.
    """
    with tessera.open(path) as store:
        if used:
            put(store), store.counts()

        def refusals(_wait: object) -> str:
            found = []
            for _ in range(3):
                with pytest.raises(TesseraError) as caught:
                    ACTS[act](store)
                found.append(f"{caught.value.code}, {caught.value.definite}: {caught.value.detail}")
            (said,) = set(found)
            return said

        assert Child(refusals).said() == (
            "unavailable, True: a forked process cannot use its parent's store: "
            "open the store again in the child"
        )
        put(store)
    holds(path, 2 + used)


def test_a_child_lets_go_of_its_parent_s_store(path: str) -> None:
    """Closing it in the child, or forgetting it, changes nothing for the parent."""
    store = tessera.open(path)
    put(store), store.counts()

    def lets_go(_wait: object) -> str:
        nonlocal store
        store.close()
        store.close()
        store = None
        gc.collect()
        return "let go"

    assert Child(lets_go).said() == "let go"
    put(store), store.counts()
    store.close()
    holds(path, 3)


def test_a_child_opens_the_store_anew(path: str) -> None:
    """While the parent goes on, a child that opens the store again works in it; each sees what the other
    does, and nothing is lost.
    """
    with tessera.open(path) as store:
        put(store), store.counts()

        def works(wait: Callable[[], None]) -> str:
            with tessera.open(path) as own:
                put(own, 10)
                wait()
                seen = own.counts().queues["q"].ready
                put(own, 100)
                return f"saw {seen}"

        child = Child(works)
        put(store, 1_000)
        child.tell()
        for _ in range(50):
            put(store)
        assert child.said() in [f"saw {1_012 + n}" for n in range(51)]
        assert store.counts().queues["q"].ready == 1_162
        put(store)
    holds(path, 1_163)


@pytest.mark.parametrize("again", [False, True], ids=["closed", "opened again"])
def test_a_child_outlives_its_parent_s_store(path: str, again: bool) -> None:
    """When the parent closes its store while the child's is open, and perhaps opens it again, the child's
    work goes on and all of it is kept: the one is not mistaken for the other.
    """
    store = tessera.open(path)
    put(store), store.counts()
    hears, says = os.pipe()

    def works(wait: Callable[[], None]) -> str:
        with tessera.open(path) as own:
            put(own), own.counts()
            os.write(says, b"!")
            wait()
            put(own, 10)
            return f"saw {own.counts().queues['q'].ready}"

    child = Child(works)
    os.read(hears, 1)
    store.close()
    if again:
        store = tessera.open(path)
        put(store, 100)
    child.tell()
    assert child.said() == f"saw {113 if again else 13}"
    store.close()
    os.close(hears), os.close(says)
    holds(path, 113 if again else 13)


def test_a_child_and_its_child(path: str) -> None:
    """What a child has opened is its own child's as little as anybody's."""
    with tessera.open(path) as store:

        def forks_again(_wait: object) -> str:
            with tessera.open(path) as own:
                put(own)
                inner = Child(lambda _: put(own)).said()
                put(own)
                return inner

        assert Child(forks_again).said().startswith("Unavailable: a forked process cannot use")
        put(store)
    holds(path, 4)


def test_a_fork_in_the_middle_of_work(path: str) -> None:
    """While other threads run verbs and look, a child is still refused at once rather than left waiting for a
    lock that nobody will ever release; and the threads notice nothing.
    """
    with tessera.open(path) as store:
        done = threading.Event()
        made = [0] * 4

        def work(number: int) -> None:
            while not done.is_set():
                put(store)
                made[number] += 1
                store.counts()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        said = {Child(lambda _: put(store)).said() for _ in range(20)}
        done.set()
        for thread in threads:
            thread.join()
        assert all(one.startswith("Unavailable: a forked process cannot use") for one in said), said
    holds(path, 1 + sum(made))
