"""What a wrapper knows of the terminal it owns: what the user has typed, what the application shows and
asks for, and how far a wake has come. Pure: bytes and instants in, bytes and words out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tessera.wake import states
from tessera.wake.limits import ENTER_SECONDS, PROVE_US, QUIET_SECONDS, SECOND_MS
from tessera.wake.text import head, one_line

_MODES: Final = re.compile(rb"\x1b\[\?([0-9;]*)([hl])")
_SEQUENCE: Final = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|O.|.)", re.DOTALL)
_PASTE_MARKS: Final = re.compile(rb"\x1b\[20[01]~")
_RECALLS: Final = re.compile(rb"\x1b(?:\[|O)[AB]|[\x0e\x10\x12]")  # keys that bring back old prompts
_STAND_IN: Final = re.compile(rb"\[Pasted (?:Content|text)([^\]\n]*)\]")
_CLEARS: Final = frozenset({0x0D, 0x03, 0x15})  # Enter, ^C, ^U
SHOWN_BYTES_MAX: Final = 256 << 10
ENTERED_MAX: Final = 64  # far more than one terminal is asked for while an attempt runs out
QUIET_US: Final = QUIET_SECONDS * 1_000_000
ENTER_US: Final = int(ENTER_SECONDS * 1_000_000)


@dataclass
class Injection:
    """One wake on its way into the terminal."""

    message_id: str
    lease_id: str
    text: bytes
    end_us: int  # no key is pressed later
    phase: str = "text"  # text, proving, pause, enter
    at_us: int = 0  # when the phase began


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a wake."""

    lease_id: str
    outcome: str
    reason: str | None = None


class Keyboard:
    """One terminal between a user, an application and wakes."""

    def __init__(self, *, plain: bool = False) -> None:
        self.draft = 0  # characters that may stand in the composer
        self.bracketed = False
        self.line_mode = False  # whether the terminal itself edits lines: then no composer is there
        self.injection: Injection | None = None
        self.held = b""  # the user's keys while a wake is typed
        self._plain = plain
        self._last_key_us: int | None = None
        self._staged: str | None = None  # the wake whose text may stand in the composer
        self._entered: dict[str, str] = {}  # the last wakes that got their Enter, each with its text
        self._shown = b""  # what the application has written since that text went in
        self._tail = b""

    def keys(self, data: bytes, now_us: int) -> bytes:
        """The user has pressed keys; what of it to hand to the application now."""
        self._last_key_us = now_us
        if self.injection is not None:
            self.held += data
            return b""
        self._note(data)
        return data

    def shown(self, data: bytes) -> None:
        """The application has written something."""
        joined = self._tail + data
        for modes, turn in _MODES.findall(joined):
            if b"2004" in modes.split(b";"):
                self.bracketed = turn == b"h"
        self._tail = joined[-16:]
        if self._staged is not None:
            self._shown = (self._shown + data)[-SHOWN_BYTES_MAX:]

    def why_not(self, message_id: str, now_us: int) -> str | None:
        """None, or why this wake may not be typed now."""
        if self.injection is not None:
            return "another_wake"
        if self._last_key_us is not None and now_us - self._last_key_us < QUIET_US:
            return states.USER_TYPING
        if self._staged == message_id:
            return None
        if self.draft or self._staged is not None:
            return states.DRAFT
        if self.line_mode and not self._plain:
            return "line_mode"
        if not self.bracketed and not self._plain:
            return "no_bracketed_paste"
        return None

    def begin(self, message_id: str, lease_id: str, text: str, within_ms: int, now_us: int) -> bytes | Ended:
        """Start to type a wake: the bytes to write, none if its text stands there already; or why not. One
        that was typed to its end is not typed again: the service asks anew if it did not hear so. A repeat
        is another text, and is typed.
        """
        if self._entered.get(message_id) == text:
            return Ended(lease_id, states.WRITTEN)
        if (reason := self.why_not(message_id, now_us)) is not None:
            return Ended(lease_id, states.NOT_READY, reason)
        injection = Injection(
            message_id, lease_id, text.encode(), now_us + within_ms * SECOND_MS, at_us=now_us
        )
        self.injection = injection
        if self._staged == message_id:
            injection.phase = "proving"
            return b""
        self._staged, self._shown = message_id, b""
        if self.bracketed:
            return b"\x1b[200~" + injection.text + b"\x1b[201~"
        return one_line(text).encode()

    def step(self, now_us: int, *, flushed: bool) -> bytes | Ended | None:
        """Go on with a wake: bytes to write, its end, or nothing yet. `flushed`: all bytes so far have
        gone.
        """
        injection = self.injection
        if injection is None:
            return None
        if now_us >= injection.end_us:
            return self._end(states.STAGED, "write_timeout")
        if injection.phase == "text" and flushed:
            injection.phase, injection.at_us = "proving", now_us
        if injection.phase == "proving":
            if self._proven(injection):
                injection.phase, injection.at_us = "pause", now_us
            elif now_us - injection.at_us >= PROVE_US:
                return self._end(states.STAGED, "composer_not_proven")
        if injection.phase == "pause" and now_us - injection.at_us >= ENTER_US:
            injection.phase = "enter"
            return b"\r"
        if injection.phase == "enter" and flushed:
            self._staged, self.draft = None, 0
            self._entered[injection.message_id] = injection.text.decode()
            if len(self._entered) > ENTERED_MAX:
                del self._entered[next(iter(self._entered))]
            return self._end(states.WRITTEN, None)
        return None

    def release(self) -> bytes:
        """The keys that were held while a wake was typed."""
        held, self.held = self.held, b""
        self._note(held)
        return held

    def _end(self, outcome: str, reason: str | None) -> Ended:
        assert self.injection is not None
        ended = Ended(self.injection.lease_id, outcome, reason)
        self.injection = None
        return ended

    def _note(self, data: bytes) -> None:
        """Keep count of what may stand in the composer. An Enter, ^C and ^U are taken to empty it."""
        if _RECALLS.search(data):
            self.draft += 1
        for key in _SEQUENCE.sub(b"", _PASTE_MARKS.sub(b"", data)):
            if key in _CLEARS:
                self.draft, self._staged = 0, None
            elif key in (0x7F, 0x08):
                self.draft = max(0, self.draft - 1)
            elif key >= 0x20 or key == 0x0A:
                self.draft += 1

    def _proven(self, injection: Injection) -> bool:
        """Whether the application has shown the wake's own id, or a stand-in of its size, since it was
        typed.
        """
        if self.draft:
            return False
        plain = b"".join(_SEQUENCE.sub(b"", self._shown).split())
        if head(injection.message_id).replace(" ", "").encode() in plain:
            return True
        text = injection.text.decode()
        sizes = {str(len(text)), str(text.count("\n")), str(text.count("\n") + 1)}
        found = _STAND_IN.findall(_SEQUENCE.sub(b"", self._shown))
        return any(
            sizes & set(re.findall(r"\d+", one.decode(errors="ignore").replace(",", ""))) for one in found
        )
