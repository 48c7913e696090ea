"""A terminal that `tessera wake run` owns. The service asks over the wrapper's connection; the wrapper,
which sees every key and every byte of the screen, decides and types.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tessera.wake import states
from tessera.wake.deliveries import Delivery
from tessera.wake.endpoints.port import HERE, Gate, Result, Standing
from tessera.wake.limits import LEASE_MS, WRITE_US
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.text import frame

ASK_SECONDS = 3.0
WRITE_SECONDS = WRITE_US / 1e6
Tell = Callable[[dict[str, Any]], Awaitable[None]]


class Line:
    """The open connection of one wrapper: questions out, answers in, each answer for one question."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}

    async def ask(self, about: str, question: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The wrapper's answer; raises TimeoutError or ConnectionError."""
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[about] = answer
        try:
            await self._tell(question)
            async with asyncio.timeout(seconds):
                return await answer
        finally:
            self._waiting.pop(about, None)

    def answered(self, about: str, answer: dict[str, Any]) -> None:
        """The wrapper has said something; an answer that nobody waits for is dropped."""
        waiting = self._waiting.get(about)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def close(self) -> None:
        """The connection has ended."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("the wrapper has gone"))


class PtyEndpoint:
    """One wrapper."""

    def __init__(self, row: EndpointRow, lines: dict[str, Line]) -> None:
        self._endpoint_id = row.endpoint_id
        self._lines = lines

    async def identify(self) -> Standing:
        """Live while the wrapper is connected."""
        return HERE if self._endpoint_id in self._lines else Standing(states.STALE, "not_connected")

    async def ready(self, message: MessageRow) -> str | None:
        """What the wrapper says: nobody types, no draft, an application that takes a paste."""
        line = self._lines.get(self._endpoint_id)
        if line is None:
            return "not_connected"
        asked = {"event": "look", "message_id": message.message_id}
        try:
            said = await line.ask(message.message_id, asked, ASK_SECONDS)
        except (TimeoutError, ConnectionError) as error:
            return f"wrapper_silent: {type(error).__name__}"
        reason = said.get("reason")
        return None if reason is None else str(reason)

    async def write(self, delivery: Delivery, gate: Gate) -> Result:
        """Hand the text to the wrapper and take its word for what came of it."""
        line = self._lines.get(self._endpoint_id)
        message = delivery.message
        if line is None:
            return Result(states.LOST, "not_connected")
        if not await gate.typing() or gate.late():
            return Result(states.NOT_READY, "lease_lost")
        text = frame(
            message.message_id, message.sender_repo, message.body, delivery=message.total_attempts,
            repeat=delivery.written_before,
        )  # fmt: skip
        question = {
            "event": "inject", "message_id": message.message_id, "lease_id": delivery.lease_id,
            "attempt": message.total_attempts, "text": text, "within_ms": min(LEASE_MS, WRITE_US // 1_000),
        }  # fmt: skip
        try:
            said = await line.ask(delivery.lease_id, question, WRITE_SECONDS)
        except (TimeoutError, ConnectionError) as error:
            return Result(states.STAGED, f"wrapper_silent: {type(error).__name__}")
        outcome = said.get("outcome")
        if outcome not in states.OUTCOMES:
            return Result(states.STAGED, "wrapper_unclear")
        await gate.typed()
        return Result(outcome, None if said.get("reason") is None else str(said["reason"]))
