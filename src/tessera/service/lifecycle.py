"""A service from its start to its end: the socket, the store, the reaper, the signals."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn
import uvloop
from msgspec import Struct

from tessera.acts.act import carry_out_on_loop
from tessera.errors import InvalidRequest, TesseraError
from tessera.limits import DRAIN_SECONDS, IDLE_SECONDS_MAX, SAMPLE_SECONDS, STOP_SECONDS_MAX
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.models import Nothing
from tessera.rules.grants import OWNER
from tessera.runtime import Runtime
from tessera.service.connection import Connection
from tessera.service.exposition import Beside, LocalFigures
from tessera.service.logs import RequestLog, set_up
from tessera.service.service import Service
from tessera.service.tracing import spans_of
from tessera.settings import Settings
from tessera.storage.port import EngineOnLoop
from tessera.surface import SURFACE

log = logging.getLogger("tessera.service")
BACKLOG: Final = 2_048
LOOPBACK: Final = ("localhost", "127.", "::1")
LOOPBACK_ADDRESS: Final = "127.0.0.1"
SWEEP_SECONDS: Final = 1.0
# The loop takes one new connection of a listener in each of its turns. A crowd that comes at once, as after a
# restart, would stand at the door for as many turns: so the door is watched as often.
ACCEPTS_PER_TURN: Final = 16


class Tls(Struct, frozen=True):
    """The files of a certificate and its key."""

    certificate: str
    key: str


def serve(
    open_engine: Callable[[asyncio.AbstractEventLoop], EngineOnLoop],
    settings: Settings,
    runtime: Runtime,
    started: Callable[[str], None],
    tls: Tls | None = None,
    insecure: bool = False,
    beside: Iterable[Beside] = (),
    log: OrderedLog = LOCAL,
) -> None:
    """Serve until SIGTERM or SIGINT; `started` is called with the URL once it answers. Refuses, before it
    opens anything, an address that others can reach when nothing protects it. `beside` gives figures of what
    runs beside the service, for its `/metrics`.
    """
    _refuse_unprotected(settings, tls, insecure)
    _refuse_one_port(settings)
    set_up(sys.stderr, runtime, settings.log == "json")
    spans = spans_of(settings)
    uvloop.run(_Serving(open_engine, settings, runtime, started, tls, beside, spans, log).run())


def _refuse_unprotected(settings: Settings, tls: Tls | None, insecure: bool) -> None:
    local = settings.host.startswith(LOOPBACK)
    if not (local or tls is not None or settings.edge_secret or insecure):
        raise InvalidRequest(
            f"{settings.host} is an address that others can reach: give --tls-cert and --tls-key, set "
            "TESSERA_EDGE_SECRET, or say --insecure"
        )


def _refuse_one_port(settings: Settings) -> None:
    if settings.metrics_port and settings.metrics_port == settings.port:
        raise InvalidRequest(
            f"TESSERA_METRICS_PORT: {settings.port} is the port of the service: take another"
        )


class _Server(uvicorn.Server):
    """The HTTP server without its own signals and its own idea of an end; both are below."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Serving:
    """One run."""

    def __init__(
        self, open_engine: Callable[[asyncio.AbstractEventLoop], EngineOnLoop], settings: Settings,
        runtime: Runtime, started: Callable[[str], None], tls: Tls | None, beside: Iterable[Beside],
        spans: Any, ordered: OrderedLog,
    ) -> None:  # fmt: skip
        self._beside = beside
        self._spans = spans
        self._ordered = ordered
        self._open_engine = open_engine
        self._settings = settings
        self._runtime = runtime
        self._started = started
        self._tls = tls
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until told to stop; then refuse new claims, finish what is in flight, close the store."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        listeners = [_listener(self._settings.host, self._settings.port)]
        if self._settings.metrics_port is not None:
            listeners.append(
                _listener(LOOPBACK_ADDRESS, self._settings.metrics_port, "TESSERA_METRICS_PORT: ")
            )
        engine = self._open_engine(loop)
        requests = RequestLog(sys.stderr, self._runtime, self._settings.log == "json", loop)
        service = Service(
            engine, self._settings, self._runtime, requests, self._beside, self._spans, self._ordered
        )
        server = _Server(self._config(service))
        acts = [self._reap(engine), self._recover(engine), self._sweep(server), self._sample(service)]
        acts += [self._figures(service, listener) for listener in listeners[1:]]
        beside = [loop.create_task(act) for act in acts]
        doors = [listeners[0], *(listeners[0].dup() for _ in range(ACCEPTS_PER_TURN - 1))]
        serving = loop.create_task(server.serve(sockets=doors))
        try:
            await self._until_started(server, serving)
            self._started(self._url(listeners[0]))
            await asyncio.wait(
                (serving, loop.create_task(self._stop.wait())), return_when=asyncio.FIRST_COMPLETED
            )
            await self._drain(service, server)
            server.should_exit = True
            await serving
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await service.close()
            engine.close()
            self._ordered.close()
            if self._spans is not None:
                await asyncio.to_thread(self._spans.close)
            await asyncio.sleep(0)  # the last answers of the store are on their way
            requests.flush()

    def _config(self, app: Any, *, tls: bool = True) -> uvicorn.Config:
        Connection.runtime = self._runtime
        files: dict[str, Any] = {}
        if tls and self._tls is not None:
            files = dict(ssl_certfile=self._tls.certificate, ssl_keyfile=self._tls.key)
        return uvicorn.Config(
            app, loop="none", http=Connection, ws="none", lifespan="off", log_config=None,
            access_log=False, proxy_headers=False, server_header=False, date_header=False, backlog=BACKLOG,
            timeout_keep_alive=IDLE_SECONDS_MAX, timeout_graceful_shutdown=STOP_SECONDS_MAX, workers=1,
            **files,
        )  # fmt: skip

    async def _until_started(self, server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
        while not server.started and not serving.done():
            await asyncio.sleep(0.005)
        if serving.done():
            serving.result()

    def _url(self, listener: socket.socket) -> str:
        host, port = listener.getsockname()[:2]
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"

    async def _drain(self, service: Service, server: uvicorn.Server) -> None:
        """For a moment open connections are still answered, each for the last time: a client that was about
        to send learns that from an answer rather than from a reset.
        """
        service.stop()
        for listener in server.servers:
            listener.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while server.server_state.connections:
                    await asyncio.sleep(0.02)

    async def _reap(self, engine: EngineOnLoop) -> None:
        """Settle what has fallen due, again and again; what goes wrong once may go right the next time."""
        run = SURFACE["reap"].run()
        await self._every(self._settings.reap_seconds, lambda: engine.submit(run, OWNER, Nothing()))

    async def _recover(self, engine: EngineOnLoop) -> None:
        """Finish the claims of processes that died between two steps."""
        recover = SURFACE["recover_claims"].verb

        async def again() -> None:
            await carry_out_on_loop(recover(Nothing(), self._ordered), engine, OWNER)

        await self._every(self._settings.reap_seconds, again)

    async def _sweep(self, server: uvicorn.Server) -> None:
        async def sweep() -> None:
            now_us = self._runtime.elapsed_us()
            for connection in list(server.server_state.connections):
                if isinstance(connection, Connection):
                    connection.sweep(now_us)

        await self._every(SWEEP_SECONDS, sweep)

    async def _figures(self, service: Service, listener: socket.socket) -> None:
        """Serve the figures without a key, on this machine alone."""
        log.info("figures at http://%s:%d/metrics", *listener.getsockname()[:2])
        server = _Server(self._config(LocalFigures(service.exposition), tls=False))
        try:
            await server.serve(sockets=[listener])
        finally:
            listener.close()

    async def _sample(self, service: Service) -> None:
        """Remember for the board how busy the queues are."""
        await self._every(SAMPLE_SECONDS, service.sample, at_once=True)

    async def _every(
        self, seconds: float, act: Callable[[], Awaitable[Any]], *, at_once: bool = False
    ) -> None:
        await asyncio.sleep(0 if at_once else seconds)
        while True:
            try:
                await act()
            except TesseraError as refusal:
                log.warning("not this time: %s: %s", refusal.code, refusal)
            except Exception:
                log.exception("not this time")
            await asyncio.sleep(seconds)


def _listener(host: str, port: int, whose: str = "") -> socket.socket:
    """A socket on the address, not yet answering. Refuses one that cannot be had with
    `invalid_request`, beginning with `whose` it is."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise InvalidRequest(f"{whose}{host}:{port} cannot be served: {reason}") from error
    return listener
