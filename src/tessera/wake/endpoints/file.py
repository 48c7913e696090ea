"""A file that wakes are appended to, for tests and for sandboxes that can read files only."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import msgspec

from tessera.wake import states
from tessera.wake.deliveries import Delivery
from tessera.wake.endpoints.port import HERE, Gate, Result, Standing
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.text import frame


class FileTarget(msgspec.Struct, frozen=True):
    """Where to append."""

    path: str


class FileEndpoint:
    """One file. A wake is one append of its framed text and a line end, synced."""

    def __init__(self, row: EndpointRow) -> None:
        self._path = Path(msgspec.convert(msgspec.json.decode(row.target), FileTarget).path)

    async def identify(self) -> Standing:
        """Live while the file, or the folder it will be made in, is there."""
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return HERE if self._path.parent.is_dir() else Standing(states.STALE, "folder_missing")
        except OSError as error:
            return Standing(states.STALE, f"cannot look at it: {error.strerror}")
        return HERE if stat.S_ISREG(found.st_mode) else Standing(states.GONE, "not_a_file")

    async def ready(self, message: MessageRow) -> str | None:
        """Always."""
        return None

    async def write(self, delivery: Delivery, gate: Gate) -> Result:
        """Append the whole text in one go."""
        message = delivery.message
        text = frame(
            message.message_id, message.sender_repo, message.body, delivery=message.total_attempts,
            repeat=delivery.written_before,
        )  # fmt: skip
        if not await gate.typing() or gate.late():
            return Result(states.NOT_READY, "lease_lost")
        try:
            await asyncio.to_thread(self._append, text.encode() + b"\n")
        except OSError as error:
            return Result(states.STAGED, f"cannot append: {error.strerror}")
        return Result(states.WRITTEN) if await gate.typed() else Result(states.STAGED, "lease_lost")

    def _append(self, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(0, "not a file")
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
