"""`tessera.AsyncClient`: the library's verbs on a running service, for event loops."""

from __future__ import annotations

import asyncio
from typing import Any, BinaryIO, Protocol, Self

import httpx

from tessera.client.connection import Connections, failure, limits, timeout, url_of
from tessera.client.retries import RETRIES, Patience
from tessera.client.verbs import AsyncVerbs
from tessera.client.wire import Sent, Wire, key_or_none
from tessera.errors import TesseraError, Unavailable
from tessera.runtime import Runtime, real_runtime


class AsyncDoor(Protocol):
    """Where verbs are carried out, for callers on an event loop."""

    async def call(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Any:
        """Run the verb that the surface lists under this name; return its answer or raise its refusal."""

    def as_key(self, secret: str) -> AsyncDoor:
        """The same door for the holder of a key."""

    async def close(self) -> None:
        """Let go of it."""


class AsyncTessera(AsyncVerbs):
    """An open store for an event loop: the methods of `Tessera`, to be awaited."""

    def __init__(self, door: AsyncDoor) -> None:
        self._door = door

    @property
    def door(self) -> AsyncDoor:
        """Where its verbs are carried out."""
        return self._door

    def as_key(self, secret: str) -> AsyncTessera:
        """The same store with only the rights of a key."""
        return AsyncTessera(self._door.as_key(secret))

    async def close(self) -> None:
        """Let go of the store; nothing that was answered is lost."""
        await self._door.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncHttpDoor:
    """A service somewhere, for the holder of a key, on one event loop; in a child of a process that had it,
    on one of the child's.
    """

    def __init__(
        self, wire: Wire, patience: Patience, runtime: Runtime, connections: Connections[httpx.AsyncClient]
    ) -> None:  # fmt: skip
        self.wire = wire
        self.patience = patience
        self.runtime = runtime
        self._connections = connections

    async def call(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Any:
        """Send the verb; again while that is safe and may help. A cancelled call hangs up."""
        sent = self.wire.request(verb, ask, body)
        tried = 0
        while True:
            tried += 1
            try:
                return await self._once(sent)
            except TesseraError as refusal:
                pause = self.patience.pause(refusal, sent.repeatable, tried, self.runtime.uniform)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    def as_key(self, secret: str) -> AsyncHttpDoor:
        """The same service, over the same connections, for the holder of another key."""
        return AsyncHttpDoor(self.wire.with_key(secret), self.patience, self.runtime, self._connections)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.mine().aclose()

    async def _once(self, sent: Sent) -> Any:
        http = self._connections.mine()
        if http.is_closed:
            raise Unavailable("the client is closed", definite=True)
        try:
            got = await http.request(
                sent.method, url_of(self.wire, sent), headers=sent.headers, content=sent.content,
                timeout=timeout(sent),
            )  # fmt: skip
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(error, self.wire.url) from error
        return self.wire.answer(sent, got.status_code, got.headers, got.content)


class AsyncClient(AsyncTessera):
    """A running service, for an event loop: the methods of `Tessera`, to be awaited. See `tessera.Client`."""

    def __init__(
        self, url: str, key: str | None = None, *, retries: int = RETRIES,
        runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """As `tessera.Client`: `key` is by default that in TESSERA_KEY; a URL that is no service's is refused
        with `invalid_request`.
        """
        runtime = runtime or real_runtime()
        wire = Wire(url, key_or_none(key), runtime)
        super().__init__(async_door(wire, Patience(retries=retries), runtime))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        """Where the service is."""
        door = self._door
        assert isinstance(door, AsyncHttpDoor)
        return door.wire.url


def async_door(wire: Wire, patience: Patience, runtime: Runtime) -> AsyncHttpDoor:
    """A door to the service that a wire leads to."""
    connections = Connections(
        lambda: httpx.AsyncClient(limits=limits(), follow_redirects=False, verify=wire.is_tls)
    )
    return AsyncHttpDoor(wire, patience, runtime, connections)
