"""The operations of the wake service, each from a request's fields to an answer's."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tessera.names import VERSION
from tessera.runtime import Runtime
from tessera.wake import admission, deliveries, drops, limits, looks, places
from tessera.wake.capture import Capture, missing
from tessera.wake.dispatch import Dispatcher
from tessera.wake.endpoints.file import FileTarget
from tessera.wake.endpoints.hook import HookTarget
from tessera.wake.endpoints.tmux import TmuxTarget
from tessera.wake.errors import InvalidRequest, UnknownOp, WakeError
from tessera.wake.gita import Registry
from tessera.wake.listening import peer_check
from tessera.wake.protocol import (
    CAPABILITIES,
    OPERATIONS,
    PROTOCOL,
    Ack,
    Detach,
    Endpoints,
    GetMessage,
    Heartbeat,
    History,
    HookActivity,
    Ping,
    Register,
    Retry,
    Send,
    Stats,
    ask_of,
    check_version,
)
from tessera.wake.sqlite import Store, Transaction

Answer = TypeVar("Answer")
Fields = dict[str, Any]
_TARGETS: dict[str, Any] = {"tmux": TmuxTarget, "file": FileTarget, "hook": HookTarget, "pty": dict[str, Any]}


class Service:
    """The store, the registry and the writers behind the operations. It lives on one event loop; the
    store has a thread of its own.
    """

    def __init__(self, folder: Path, registry: Registry, runtime: Runtime) -> None:
        self.runtime = runtime
        self.registry = registry
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="wake-store")
        self.store = Store(str(folder / "wake.db"), runtime)
        self.capture = Capture(folder / "capture.jsonl")
        self.dispatcher = Dispatcher(self.run, runtime)
        self.more = asyncio.Event()  # something was sent or has changed: look what is due
        self.dispatcher.poke = self.more.set
        self._started_us = runtime.elapsed_us()
        self._started_at = runtime.now_us() // 1_000
        self._operations: dict[str, Callable[[Any], Awaitable[Fields]]] = {
            "ping": self._ping, "register": self._register, "heartbeat": self._heartbeat,
            "activity": self._activity, "detach": self._detach, "endpoints": self._endpoints,
            "send": self._send, "message": self._message, "history": self._history, "ack": self._ack,
            "retry": self._retry, "stats": self._stats,
        }  # fmt: skip

    async def run(self, verb: Callable[..., Answer], *args: Any) -> Answer:
        """Run a verb of the store on its thread."""
        return await self.aside(self.store.run, verb, *args)

    async def aside(self, work: Callable[..., Answer], *args: Any) -> Answer:
        """Run something that may wait, on the store's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    async def start(self) -> None:
        """What comes before the first request: endpoints of connections are away, the capture is
        completed.
        """
        self._instance = await self.run(_instance)
        await self.run(places.all_stale)
        await self.aside(self.store.prune)
        last = await self.aside(self.capture.last)
        while rows := await self.run(missing, last):
            await self.aside(self.capture.append, rows)
            last = rows[-1].message_id

    async def close(self) -> None:
        """Let the writers that have begun end, then let go of the store."""
        await self.dispatcher.idle()
        await self.aside(self.store.close)
        self._thread.shutdown()

    async def handle(self, request: Fields) -> Fields:
        """Answer one request, or refuse it with a WakeError."""
        check_version(request)
        op = request.get("op")
        operation = self._operations.get(op) if isinstance(op, str) else None
        if operation is None or not isinstance(op, str):
            raise UnknownOp(ops=sorted(OPERATIONS))
        return await operation(ask_of(request, OPERATIONS[op]))

    async def collect_drops(self) -> None:
        """Take in the acknowledgements that lie as files in the repositories of endpoints."""
        for repo, path in await self.aside(self._repositories, await self.run(_repos)):
            for message_id in await self.aside(drops.found, path):
                try:
                    kept = await self.run(looks.message, GetMessage(message_id=message_id))
                    if kept["message"]["target_repo"] == repo:
                        await self.run(
                            deliveries.acknowledge, Ack(message_id=message_id, source="file", by=repo)
                        )
                        await self.aside(drops.clear, path, message_id)
                except WakeError:
                    continue  # an id that is not known stays where it lies

    def _repositories(self, names: set[str]) -> list[tuple[str, Path]]:
        return [(name, path) for name in sorted(names) for path in self.registry.paths(name)]

    async def _ping(self, ask: Ping) -> Fields:
        return {
            "service": "tessera-wake", "version": VERSION, "protocols": [PROTOCOL],
            "capabilities": list(CAPABILITIES), "instance": self._instance, "pid": os.getpid(),
            "started_at": self._started_at, "peer_check": peer_check(),
            "gita": {"path": str(self.registry.path), "count": await self.aside(self.registry.count),
                     "stale": self.registry.stale},
            "limits": {"body_bytes": limits.BODY_BYTES_MAX, "metadata_bytes": limits.METADATA_BYTES_MAX,
                       "line_bytes": limits.LINE_BYTES_MAX},
            "defaults": {"retry_s": [delay // 1_000 for delay in limits.RETRY_MS],
                         "ack_s": limits.ACK_SECONDS, "lease_s": limits.LEASE_MS // 1_000},
        }  # fmt: skip

    async def _register(self, ask: Register) -> Fields:
        for repo in ask.repos:
            await self.aside(self.registry.require, repo)
        try:
            msgspec.convert(ask.target, _TARGETS[ask.kind])
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"target: {error}"[:200], field="target") from error
        await self.dispatcher.refresh()
        answer = await self.run(places.register, ask)
        self.dispatcher.forget(answer["endpoint_id"])
        self.more.set()
        return answer

    async def _heartbeat(self, ask: Heartbeat) -> Fields:
        return await self.run(places.heartbeat, ask)

    async def _activity(self, ask: HookActivity) -> Fields:
        answer = await self.run(deliveries.hook_activity, ask)
        self.dispatcher.forget(ask.endpoint_id)
        self.more.set()
        return answer

    async def _detach(self, ask: Detach) -> Fields:
        return await self.run(places.detach, ask)

    async def _endpoints(self, ask: Endpoints) -> Fields:
        await self.dispatcher.refresh(ask.repo)
        return await self.run(places.listed, ask)

    async def _send(self, ask: Send) -> Fields:
        metadata = admission.check_sizes(ask)
        await self.aside(self._check_repos, ask)
        await self.dispatcher.refresh(ask.target_repo)
        answer = await self.aside(self._admit, ask, metadata)
        if answer["rebound"] or not answer["deduplicated"]:
            self.more.set()
        return answer

    def _check_repos(self, ask: Send) -> None:
        self.registry.require(ask.target_repo)
        if ask.provenance != "local":
            self.registry.require_sender(ask.sender_repo)

    def _admit(self, ask: Send, metadata: str) -> Fields:
        """Store, then capture: a line that is not written is written at the next start."""
        answer = self.store.run(admission.send, ask, metadata)
        if not answer["deduplicated"]:
            row = self.store.run(deliveries.message, answer["message_id"])
            self.runtime.reach("wake.capture")
            self.capture.append([row])
        return answer

    async def _message(self, ask: GetMessage) -> Fields:
        return await self.run(looks.message, ask)

    async def _history(self, ask: History) -> Fields:
        return await self.run(looks.history, ask)

    async def _ack(self, ask: Ack) -> Fields:
        return await self.run(deliveries.acknowledge, ask)

    async def _retry(self, ask: Retry) -> Fields:
        answer = await self.run(deliveries.retry, ask)
        self.more.set()
        return answer

    async def _stats(self, ask: Stats) -> Fields:
        uptime_s = (self.runtime.elapsed_us() - self._started_us) // 1_000_000
        counted = await self.run(looks.stats)
        return counted | {"db_bytes": await self.aside(self.store.bytes), "uptime_s": uptime_s}


def _instance(tx: Transaction) -> str:
    return str(tx.one("instance").value)


def _repos(tx: Transaction) -> set[str]:
    return {repo for row in tx.all("open_endpoints") for repo in msgspec.json.decode(row.repos)}
