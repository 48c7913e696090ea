"""A tmux pane. The text goes in as one guarded paste, and the Enter as another, only after the screen has
shown the wake alone in the composer.

A pane is named by its server's socket, process and start and by its own id and process, compared inside
the server in the same queue as the paste: pane ids start anew with each server, and a paste into a dead
pane ends a whole server of tmux 3.3a. `send-keys` is never used: it goes elsewhere in copy mode, and to
every pane when panes are synchronised.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import Any, Final

import msgspec

from tessera.runtime import Runtime
from tessera.wake import states
from tessera.wake.deliveries import Delivery
from tessera.wake.endpoints import screen as reading
from tessera.wake.endpoints.port import HERE, Gate, Result, Standing
from tessera.wake.endpoints.screen import Screen
from tessera.wake.limits import (
    ENTER_SECONDS,
    LOOK_SECONDS,
    PLAIN_LINE_BYTES_MAX,
    PROVE_US,
    QUIET_SECONDS,
    TMUX_SECONDS_MAX,
)
from tessera.wake.rows import EndpointRow, MessageRow
from tessera.wake.text import frame, one_line

SHELLS: Final = frozenset({"ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "nu", "pwsh", "sh", "tcsh",
                           "xonsh", "zsh"})  # fmt: skip
_SEEN: Final = (
    "seen #{pane_id} #{pane_pid} #{pid} #{start_time} #{pane_dead} #{pane_in_mode} #{pane_input_off} "
    "#{cursor_flag} #{cursor_x} #{cursor_y} #{pane_height} #{pane_current_command}"
)


class Gone(Exception):
    """There is no such pane any more."""


class TmuxTarget(msgspec.Struct, frozen=True):
    """What names a pane, and how its application takes text."""

    socket: str
    server_pid: str
    server_start: str
    pane: str
    pane_pid: str
    bracketed: bool = False  # whether it asks for bracketed paste; else a wake is typed as one line
    promptless: bool = False
    allow_shell: bool = False


class Seen(msgspec.Struct, frozen=True):
    """One look at a pane."""

    ids: tuple[str, str, str, str]
    dead: bool
    in_mode: bool
    input_off: bool
    command: str
    last_keys: int  # of whoever looks at this pane, in seconds since 1970; 0: nobody does
    screen: Screen


def run_tmux(socket: str, *words: str, given: bytes | None = None) -> str:
    """One call of tmux on the server of a socket; raises Gone when there is no server or no pane."""
    called = subprocess.run(  # noqa: S603 - tmux with our own words
        ["tmux", "-u", "-S", socket, *words],  # noqa: S607
        input=given, capture_output=True, timeout=TMUX_SECONDS_MAX, check=False,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    if called.returncode != 0:
        raise Gone(called.stderr.decode(errors="replace").strip()[:160] or "tmux refused")
    return called.stdout.decode("utf-8", errors="replace")


def look(socket: str, pane: str) -> Seen:
    """The pane and its screen, in one call."""
    out = run_tmux(
        socket, "list-clients", "-F", "client #{client_activity} #{pane_id}", ";",
        "display-message", "-p", "-t", pane, _SEEN, ";",
        "capture-pane", "-p", "-e", "-t", pane, ";", "capture-pane", "-p", "-J", "-t", pane,
    ).split("\n")  # fmt: skip
    keys = 0
    while out and out[0].startswith("client "):
        _, activity, current = out.pop(0).split(" ")
        keys = max(keys, int(activity)) if current == pane else keys
    fields = out.pop(0).split(" ", 12) if out else []
    if len(fields) < 13 or fields[1] != pane:  # tmux answers for a missing pane with empty fields
        raise Gone("there is no such pane")
    height = int(fields[11])
    cursor = (int(fields[9]), int(fields[10])) if fields[8] == "1" else None
    return Seen(
        ids=(fields[1], fields[2], fields[3], fields[4]), dead=fields[5] == "1", in_mode=fields[6] != "0",
        input_off=fields[7] == "1", command=fields[12], last_keys=keys,
        screen=Screen(
            rows=tuple(reading.cells(row) for row in out[:height]),
            lines=tuple(line.rstrip() for line in out[height:]), cursor=cursor,
        ),
    )  # fmt: skip


def target_of(socket: str, pane: str, **options: bool) -> TmuxTarget:
    """The target that names a pane as it is now."""
    pane_id, pane_pid, server_pid, start = look(socket, pane).ids
    return TmuxTarget(
        socket=socket, server_pid=server_pid, server_start=start, pane=pane_id, pane_pid=pane_pid, **options
    )


class TmuxEndpoint:
    """One registered pane."""

    def __init__(self, row: EndpointRow, runtime: Runtime) -> None:
        self._target = msgspec.convert(msgspec.json.decode(row.target), TmuxTarget)
        self._runtime = runtime
        self._bracketed = self._target.bracketed or row.harness in ("claude", "codex")

    async def identify(self) -> Standing:
        """Live while the same pane of the same server runs something that is no shell."""
        try:
            seen = await self._look()
        except Gone as gone:
            return Standing(states.GONE, str(gone))
        except subprocess.TimeoutExpired:
            return Standing(states.STALE, "tmux_timeout")
        if seen.dead:
            return Standing(states.GONE, "pane_dead")
        if not self._target.allow_shell and seen.command.lstrip("-") in SHELLS:
            return Standing(states.STALE, "shell_in_front")
        return HERE

    async def ready(self, message: MessageRow) -> str | None:
        """Nobody is typing, no mode, no dialog, no draft; or the wake itself waits for its Enter."""
        try:
            seen = await self._look()
        except Gone as gone:
            return str(gone)
        except subprocess.TimeoutExpired:
            return "tmux_timeout"
        return self._why_not(seen, message)

    async def write(self, delivery: Delivery, gate: Gate) -> Result:
        """Paste, prove, Enter, see it taken. Each later attempt begins by looking for what an earlier one may
        have left: a wake that stands in the composer gets its Enter only, and of one that had its Enter, or
        may have had it, a repeat is typed.
        """
        typing = False
        try:
            seen = await self._look()
            message, message_id = delivery.message, delivery.message.message_id
            if (reason := self._why_not(seen, message)) is not None:
                return Result(states.NOT_READY, reason)
            stands = self._stands(seen.screen, message)
            entered = delivery.entered_before and not stands
            text = self._text(message, repeat=delivery.written_before or entered)
            if not self._bracketed and len(text.encode()) > PLAIN_LINE_BYTES_MAX:
                return Result(states.NOT_READY, "too_long_for_one_line")
            if not stands:
                typing = await gate.typing()
                if not typing or gate.late():
                    return Result(states.NOT_READY, "lease_lost")
                if not await self._paste(text.encode(), "-p", "-r"):
                    return Result(states.NOT_READY, "pane_changed")
                self._runtime.reach("wake.tmux.pasted")
                if (failed := await self._prove(seen.screen, message_id, text)) is not None:
                    return failed
            return await self._enter(message_id, text, gate)
        except Gone as gone:
            return Result(states.LOST, str(gone))
        except subprocess.TimeoutExpired:
            return Result(states.STAGED if typing else states.NOT_READY, "tmux_timeout")

    def _text(self, message: MessageRow, *, repeat: bool = False) -> str:
        text = frame(
            message.message_id, message.sender_repo, message.body, delivery=message.total_attempts,
            repeat=repeat,
        )  # fmt: skip
        return text if self._bracketed else one_line(text)

    def _stands(self, screen: Screen, message: MessageRow) -> bool:
        return reading.stands(
            screen, message.message_id, self._text(message), tried=message.total_attempts > 0,
            promptless=self._target.promptless,
        )  # fmt: skip

    def _why_not(self, seen: Seen, message: MessageRow) -> str | None:
        if seen.dead:
            return "pane_dead"
        if seen.in_mode:
            return "pane_in_mode"
        if seen.input_off:
            return "pane_input_off"
        if self._runtime.now_us() / 1e6 - seen.last_keys < QUIET_SECONDS:
            return states.USER_TYPING
        if self._stands(seen.screen, message):
            return None
        return reading.empty_composer(seen.screen, promptless=self._target.promptless)

    async def _prove(self, before: Screen, message_id: str, text: str) -> Result | None:
        """None once the wake is seen alone in the composer; until then no Enter."""
        end = self._runtime.elapsed_us() + PROVE_US
        while True:
            after = (await self._look()).screen
            proof = reading.proven(before, after, message_id, text, promptless=self._target.promptless)
            if proof:
                return None
            if proof is False:
                return Result(states.STAGED, "draft_before_wake")
            if self._runtime.elapsed_us() >= end:
                return Result(states.STAGED, "composer_not_proven")
            await asyncio.sleep(LOOK_SECONDS)

    async def _enter(self, message_id: str, text: str, gate: Gate) -> Result:
        await asyncio.sleep(ENTER_SECONDS)
        if not await gate.typed() or gate.late():
            return Result(states.STAGED, "lease_lost")
        if not await self._paste(b"\r", "-r"):
            return Result(states.STAGED, "pane_changed_before_enter")
        self._runtime.reach("wake.tmux.entered")
        end = self._runtime.elapsed_us() + PROVE_US
        while not reading.taken((await self._look()).screen, message_id, text,
                                promptless=self._target.promptless):  # fmt: skip
            if self._runtime.elapsed_us() >= end:
                return Result(states.STAGED, "enter_not_taken")
            await asyncio.sleep(LOOK_SECONDS)
        return Result(states.WRITTEN)

    async def _look(self) -> Seen:
        target = self._target
        seen = await asyncio.to_thread(look, target.socket, target.pane)
        if seen.ids != (target.pane, target.pane_pid, target.server_pid, target.server_start):
            raise Gone("another pane or server has taken its place")
        return seen

    async def _paste(self, data: bytes, *flags: str) -> bool:
        """Paste into the pane if it is still the one that was named and takes input, decided by the server in
        the same queue as the paste itself.
        """
        target = self._target
        buffer = self._runtime.new_id("tessera-")
        same = {"pane_pid": target.pane_pid, "pid": target.server_pid, "start_time": target.server_start,
                "pane_dead": "0", "pane_in_mode": "0", "pane_input_off": "0"}  # fmt: skip
        condition = "1"
        for name, value in same.items():
            condition = f"#{{&&:{condition},#{{==:#{{{name}}},{value}}}}}"
        paste = f"paste-buffer {' '.join(flags)} -d -b {buffer} -t {target.pane} ; display-message -p WROTE"
        words: tuple[Any, ...] = (
            "load-buffer", "-b", buffer, "-", ";", "if-shell", "-F", "-t", target.pane, condition, paste,
            f"delete-buffer -b {buffer} ; display-message -p REFUSED",
        )  # fmt: skip
        said = await asyncio.to_thread(lambda: run_tmux(target.socket, *words, given=data))
        return said.strip() == "WROTE"
