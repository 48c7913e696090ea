"""`tessera wake serve`: connections in, wakes out, until a signal or a replaced socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from tessera.runtime import Runtime
from tessera.wake import looks, places, protocol, states
from tessera.wake.endpoints.pty import Line
from tessera.wake.errors import Busy, Internal, InvalidRequest, LineTooLong, ShuttingDown, TimedOut, WakeError
from tessera.wake.folders import make_private
from tessera.wake.gita import Registry
from tessera.wake.limits import (
    CONNECTIONS_MAX,
    DELIVERIES_MAX,
    EVENTS_WAITING_MAX,
    KEEPALIVE_SECONDS,
    LINE_BYTES_MAX,
    READ_SECONDS_MAX,
    TTL_MS,
    WRITE_SECONDS_MAX,
)
from tessera.wake.listening import Listening, check_peer, listen
from tessera.wake.protocol import Attach, Subscribe
from tessera.wake.service import Service

log = logging.getLogger("tessera.wake")
REPLACED_EXIT: Final = 3  # the socket's path leads elsewhere: a supervisor starts another service
WATCH_SECONDS: Final = 1.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def serve(
    run_folder: Path, state_folder: Path, registry_path: Path, runtime: Runtime,
    ready: Callable[[Path], None],
) -> int:  # fmt: skip
    """Serve until SIGTERM or SIGINT (exit code 0) or until the socket is replaced (3). `ready` is told the
    socket's path once clients can connect.
    """
    with listen(run_folder) as listening:
        make_private(state_folder)
        return asyncio.run(_serve(listening, state_folder, registry_path, runtime, ready))


async def _serve(
    listening: Listening, state_folder: Path, registry_path: Path, runtime: Runtime,
    ready: Callable[[Path], None],
) -> int:  # fmt: skip
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(DELIVERIES_MAX + 8, thread_name_prefix="wake"))
    service = Service(state_folder, Registry(registry_path, runtime), runtime)
    daemon = Daemon(service, listening)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop, 0)
    await service.start()
    server = await asyncio.start_unix_server(daemon.connection, sock=listening.socket, limit=LINE_BYTES_MAX)
    working = [asyncio.create_task(work()) for work in (daemon.deliver, daemon.watch)]
    ready(listening.path)
    try:
        return await daemon.until_stopped()
    finally:
        server.close()
        for work in working:
            work.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await daemon.hang_up()
        await service.close()


class Daemon:
    """The connections and the two loops beside them."""

    def __init__(self, service: Service, listening: Listening) -> None:
        self._service = service
        self._listening = listening
        self._loop = asyncio.get_running_loop()
        self._stopped: asyncio.Future[int] = self._loop.create_future()
        self._connections: set[asyncio.Task[Any]] = set()
        self._subscribers: set[asyncio.Event] = set()
        service.store.after_commit = self._tell_subscribers

    def stop(self, code: int) -> None:
        """Answer nothing new; what has begun ends."""
        if not self._stopped.done():
            self._stopped.set_result(code)

    async def until_stopped(self) -> int:
        """The exit code."""
        return await self._stopped

    async def hang_up(self) -> None:
        """End every connection."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def deliver(self) -> None:
        """Do what is due, again and again."""
        dispatcher, more = self._service.dispatcher, self._service.more
        while True:
            more.clear()
            try:
                await dispatcher.step()
                wait = await dispatcher.soon()
            except WakeError as refusal:
                log.warning("deliveries wait: %s", refusal.detail)
                wait = WATCH_SECONDS
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await more.wait()

    async def watch(self) -> None:
        """Whether the socket is still the one behind its path; and what lies as files."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self._listening.replaced():
                log.error("%s was removed or replaced: stopping", self._listening.path)
                self.stop(REPLACED_EXIT)
            try:
                await self._service.collect_drops()
            except WakeError as refusal:
                log.warning("acknowledgements wait: %s", refusal.detail)

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            check_peer(writer.get_extra_info("socket"))
            if len(self._connections) > CONNECTIONS_MAX:
                raise Busy
            while await self._one(reader, writer):
                pass
        except WakeError as refusal:
            with contextlib.suppress(ConnectionError, TimeoutError):
                await _send(writer, protocol.refusal({}, refusal))
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            pass  # nobody is left to tell
        finally:
            self._connections.discard(task)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one line; whether another one may follow."""
        line = await _line(reader, READ_SECONDS_MAX)
        if line is None:
            return False
        request: dict[str, Any] = {}
        try:
            request = protocol.parse(line)
            if self._stopped.done():
                raise ShuttingDown
            if request.get("op") in ("attach", "subscribe"):
                protocol.check_version(request)
                stream = self._attach if request["op"] == "attach" else self._subscribe
                await stream(request, (reader, writer))
                return False
            answer = protocol.answer(request, await self._service.handle(request))
        except WakeError as refusal:
            answer = protocol.refusal(request, refusal)
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            log.exception("an operation failed unforeseen")
            answer = protocol.refusal(request, Internal())
        await _send(writer, answer)
        return True

    async def _attach(self, request: dict[str, Any], streams: Streams) -> None:
        """The connection of a wrapper: it is what its endpoint lives by."""
        ask: Attach = protocol.ask_of(request, Attach)
        reader, writer = streams
        row = await self._service.run(places.endpoint, ask.endpoint_id)
        if row.kind != "pty":
            raise InvalidRequest("only a pty endpoint has a connection", field="endpoint_id")
        await self._service.run(places.resumed, ask.endpoint_id, ask.resume_token)
        dispatcher = self._service.dispatcher
        line = Line(lambda event: _send(writer, protocol.line_of(event)))
        if (before := dispatcher.lines.get(ask.endpoint_id)) is not None:
            before.close()
        dispatcher.lines[ask.endpoint_id] = line
        dispatcher.forget(ask.endpoint_id)
        try:
            await _send(writer, protocol.answer(request, {"attached": True}))
            self._service.more.set()
            while (said := await _line(reader, TTL_MS / 1_000)) is not None:
                self._heard(line, protocol.parse(said))
        except WakeError as refusal:
            log.warning("a wrapper is hung up on: %s", refusal.detail)
        finally:
            line.close()
            if dispatcher.lines.get(ask.endpoint_id) is line:
                del dispatcher.lines[ask.endpoint_id]
                leaving = self._service.run(places.stands, ask.endpoint_id, states.STALE, "not_connected")
                await asyncio.shield(leaving)

    def _heard(self, line: Line, said: dict[str, Any]) -> None:
        about = said.get("lease_id") if said.get("op") == "inject_result" else said.get("message_id")
        if isinstance(about, str):
            line.answered(about, said)
        self._service.more.set()

    async def _subscribe(self, request: dict[str, Any], streams: Streams) -> None:
        """The log from a number on, then as it grows. Who falls too far behind is told where to go on."""
        ask: Subscribe = protocol.ask_of(request, Subscribe)
        writer = streams[1]
        high = await self._service.run(looks.last_event)
        after = high if ask.after is None else ask.after
        await _send(writer, protocol.answer(request, {"subscribed": True, "from": after}))
        news = asyncio.Event()
        self._subscribers.add(news)
        try:
            while True:
                news.clear()
                rows = await self._service.run(looks.events, after, EVENTS_WAITING_MAX + 1)
                if len(rows) > EVENTS_WAITING_MAX and after >= high:
                    await _send(writer, protocol.line_of({"event": "lagged", "resume_after": after}))
                    return
                for row in await self._service.run(looks.fitting, rows, ask):
                    await _send(writer, protocol.line_of(looks.event_shown(row)))
                if rows:
                    after = rows[-1].seq
                    continue
                try:
                    async with asyncio.timeout(KEEPALIVE_SECONDS):
                        await news.wait()
                except TimeoutError:
                    await _send(writer, protocol.line_of({"event": "keepalive"}))
        finally:
            self._subscribers.discard(news)

    def _tell_subscribers(self) -> None:
        """From the store's thread."""
        self._loop.call_soon_threadsafe(self._news)

    def _news(self) -> None:
        for news in self._subscribers:
            news.set()


async def _line(reader: asyncio.StreamReader, seconds: float) -> bytes | None:
    """The next line without its end; None when the client has gone."""
    try:
        async with asyncio.timeout(seconds):
            return (await reader.readuntil(b"\n"))[:-1]
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise LineTooLong(limit=LINE_BYTES_MAX) from error
    except TimeoutError as error:
        raise TimedOut(f"no whole line came in {seconds:g} seconds") from error


async def _send(writer: asyncio.StreamWriter, line: bytes) -> None:
    writer.write(line)
    async with asyncio.timeout(WRITE_SECONDS_MAX):
        await writer.drain()
