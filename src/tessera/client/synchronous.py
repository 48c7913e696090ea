"""`tessera.Client`: the library's verbs on a running service, from any thread."""

from __future__ import annotations

from typing import Any, BinaryIO

import httpx

from tessera.client.connection import Connections, failure, limits, timeout, url_of
from tessera.client.retries import RETRIES, Patience
from tessera.client.wire import Sent, Wire, key_or_none
from tessera.errors import TesseraError, Unavailable
from tessera.library import Tessera
from tessera.runtime import Runtime, real_runtime


class HttpDoor:
    """A service somewhere, for the holder of a key. Safe to call from several threads, and in a child of a
    process that had it.
    """

    def __init__(
        self, wire: Wire, patience: Patience, runtime: Runtime, connections: Connections[httpx.Client]
    ) -> None:  # fmt: skip
        self.wire = wire
        self.patience = patience
        self.runtime = runtime
        self._connections = connections

    def call(self, verb: str, ask: bytes, body: bytes | BinaryIO = b"") -> Any:
        """Send the verb; again while that is safe and may help. Returns its answer or raises its refusal."""
        sent = self.wire.request(verb, ask, body)
        tried = 0
        while True:
            tried += 1
            try:
                return self._once(sent)
            except TesseraError as refusal:
                pause = self.patience.pause(refusal, sent.repeatable, tried, self.runtime.uniform)
                if pause is None:
                    raise
            self.runtime.sleep(pause)

    def as_key(self, secret: str) -> HttpDoor:
        """The same service, over the same connections, for the holder of another key."""
        return HttpDoor(self.wire.with_key(secret), self.patience, self.runtime, self._connections)

    def close(self) -> None:
        """Close the connections."""
        self._connections.mine().close()

    def _once(self, sent: Sent) -> Any:
        http = self._connections.mine()
        if http.is_closed:
            raise Unavailable("the client is closed", definite=True)
        try:
            got = http.request(
                sent.method, url_of(self.wire, sent), headers=sent.headers, content=sent.content,
                timeout=timeout(sent),
            )  # fmt: skip
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failure(error, self.wire.url) from error
        return self.wire.answer(sent, got.status_code, got.headers, got.content)


class Client(Tessera):
    """A running service. It has the methods of `Tessera`, answers with the same models, and raises the same
    refusals; what its key may do is for the service to say.
    """

    def __init__(
        self, url: str, key: str | None = None, *, retries: int = RETRIES,
        runtime: Runtime | None = None,
    ) -> None:  # fmt: skip
        """Connects when first used. `key` is the bearer secret, by default that in TESSERA_KEY. `retries` is
        how often a request is sent again that certainly did nothing, or may safely be carried out twice.
        Refuses a URL that is no service's with `invalid_request`.
        """
        runtime = runtime or real_runtime()
        wire = Wire(url, key_or_none(key), runtime)
        connections = Connections(
            lambda: httpx.Client(limits=limits(), follow_redirects=False, verify=wire.is_tls)
        )
        super().__init__(HttpDoor(wire, Patience(retries=retries), runtime, connections))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @property
    def url(self) -> str:
        """Where the service is."""
        door = self._door
        assert isinstance(door, HttpDoor)
        return door.wire.url
