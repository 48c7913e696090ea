"""The agent's own channel: a command that puts the text into the live session, such as `codex queue`.

Nothing is typed, so nothing of a human's can be spoilt. Whether anybody reads the channel is known from the
process that registered it. What was queued once is never queued twice.
"""

from __future__ import annotations

import asyncio
import subprocess
from typing import Annotated

import msgspec
from msgspec import Meta

from tessera.wake import states
from tessera.wake.deliveries import Delivery
from tessera.wake.endpoints.port import HERE, Gate, Result, Standing
from tessera.wake.limits import HOOK_SECONDS_MAX
from tessera.wake.processes import started
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.text import frame


class HookTarget(msgspec.Struct, frozen=True):
    """The command's words. `{text}` and `{id}` in a word are replaced; no shell reads them. Without
    `{text}` the command gets the text on stdin.
    """

    command: Annotated[list[str], Meta(min_length=1, max_length=64)]
    cwd: str | None = None


async def owner_standing(row: EndpointRow) -> Standing:
    """Live while the process that owns the endpoint runs, or if none does."""
    if row.owner_pid is None:
        return HERE
    same = await asyncio.to_thread(started, row.owner_pid) == row.owner_start
    return HERE if same else Standing(states.GONE, "owner_ended")


class HookEndpoint:
    """One command of one live process."""

    def __init__(self, row: EndpointRow) -> None:
        self._target = msgspec.convert(msgspec.json.decode(row.target), HookTarget)
        self._row = row

    async def identify(self) -> Standing:
        """Live while the process that owns it runs."""
        return await owner_standing(self._row)

    async def ready(self, message: MessageRow) -> str | None:
        """Always: the channel itself waits until the agent can take the text."""
        return None

    async def write(self, delivery: Delivery, gate: Gate) -> Result:
        """Run the command; its exit code 0 is the receipt. A wake that is in the queue already stays the only
        one there: the attempt waits for its acknowledgement again.
        """
        message = delivery.message
        if delivery.typed_before and delivery.written_before:
            return Result(states.WRITTEN, "already_queued")
        text = frame(message.message_id, message.sender_repo, message.body)
        if not await gate.typing() or gate.late():
            return Result(states.NOT_READY, "lease_lost")
        failure = await asyncio.to_thread(self._run, message.message_id, text)
        if failure is not None:
            return Result(states.STAGED, failure)
        return Result(states.WRITTEN) if await gate.typed() else Result(states.STAGED, "lease_lost")

    def _run(self, message_id: str, text: str) -> str | None:
        words = [word.replace("{text}", text).replace("{id}", message_id) for word in self._target.command]
        stdin = None if any("{text}" in word for word in self._target.command) else text.encode()
        try:
            ran = subprocess.run(  # noqa: S603 - the command that the user registered
                words, input=stdin, stdin=subprocess.DEVNULL if stdin is None else None,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=HOOK_SECONDS_MAX,
                cwd=self._target.cwd, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "command_timeout"
        except OSError as error:
            return f"command_not_run: {error.strerror}"
        if ran.returncode == 0:
            return None
        return f"command_exit_{ran.returncode}: {ran.stderr.decode(errors='replace').strip()[:100]}"
