"""A terminal application in raw mode with a composer, as agents have: it logs what reaches it, one JSON
object a line. Its options make the scenes: chunked reads, an Enter that is ignored, a dialog, a draft, no
brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import sys
import termios
import tty

PASTE_BEGIN, PASTE_END = b"\x1b[200~", b"\x1b[201~"


class Composer:
    """What a prompt is typed into."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.text = ""
        self.waiting = b""
        self.pasting = False
        self.enters = 0
        self.dialog = options.dialog
        self.log = open(options.log, "a", buffering=1)  # noqa: SIM115 - for the life of the process
        self.rolls = random.Random(options.chunks)

    def say(self, **line: object) -> None:
        self.log.write(json.dumps(line) + "\n")

    def draw(self) -> None:
        if self.dialog:
            shown = "\x1b[H\x1b[2JAllow this command?\r\n> 1. Yes\r\n  2. No\r\n\x1b[?25l"
        elif self.options.hidden_cursor:
            hint = "\x1b[2mask me anything\x1b[22m" if not self.text else self.text.replace("\n", "\r\n  ")
            shown = f"\x1b[H\x1b[2J{self.options.banner}\r\n> {hint}\x1b[7m \x1b[27m\r\n\r\n  ready\x1b[?25l"
        elif self.options.placeholder and len(self.text) > 1_000:
            shown = f"\x1b[H\x1b[2J> [Pasted Content {len(self.text)} chars]"
        else:
            shown = "\x1b[H\x1b[2J> " + self.text.replace("\n", "\r\n  ")
        os.write(1, shown.encode())

    def enter(self) -> None:
        self.enters += 1
        if self.dialog:
            self.say(event="chosen", choice="Yes")
            self.dialog = False
        elif self.enters <= self.options.deaf_enters:
            self.say(event="ignored")
        else:
            self.say(event="submit", text=self.text)
            self.text = ""

    def take(self, data: bytes) -> None:
        self.waiting += data
        while self.waiting and self.step():
            pass
        self.draw()

    def step(self) -> bool:
        """Take one thing of what waits; False: wait for more."""
        if self.pasting:
            end = self.waiting.find(PASTE_END)
            if end < 0:
                return False
            pasted = self.waiting[:end].decode("utf-8", "replace")
            self.waiting = self.waiting[end + len(PASTE_END) :]
            self.pasting = False
            self.say(event="paste", text=pasted)
            if not self.dialog:
                self.text += pasted.replace("\r", "\n")
            return True
        if PASTE_BEGIN.startswith(self.waiting[:6]) and len(self.waiting) < 6 and self.waiting[:1] == b"\x1b":
            return False
        if self.waiting.startswith(PASTE_BEGIN):
            self.waiting, self.pasting = self.waiting[6:], True
            return True
        return self.key()

    def key(self) -> bool:
        first = self.waiting[:1]
        if first == b"\r":
            self.waiting = self.waiting[1:]
            self.enter()
            return True
        if first == b"\x1b":
            found = re.match(rb"\x1b(\[[0-9;?]*[A-Za-z~])?", self.waiting)
            self.waiting = self.waiting[found.end() :]
            self.say(event="escape")
            return True
        if first < b" " or first == b"\x7f":
            self.waiting = self.waiting[1:]
            self.say(event="key", code=first[0])
            if first == b"\x15":
                self.text = ""
            return True
        size = 1 if first < b"\x80" else 2 if first < b"\xe0" else 3 if first < b"\xf0" else 4
        if len(self.waiting) < size:
            return False
        self.text += self.waiting[:size].decode("utf-8", "replace")
        self.waiting = self.waiting[size:]
        return True

    def run(self) -> None:
        if not self.options.no_brackets:
            os.write(1, b"\x1b[?2004h")
        self.draw()
        self.say(event="start", pid=os.getpid())
        while True:
            size = self.rolls.randint(1, 64) if self.options.chunks else 65_536
            data = os.read(0, size)
            if not data:
                return
            self.take(data)
            if self.options.chunks:
                select.select([], [], [], self.rolls.random() / 5_000)


def main() -> None:
    """Run until the terminal ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", required=True)
    parser.add_argument("--chunks", type=int, default=0)
    parser.add_argument("--deaf-enters", type=int, default=0)
    parser.add_argument("--banner", default="agent 1.0")
    for name in ("--dialog", "--hidden-cursor", "--placeholder", "--no-brackets"):
        parser.add_argument(name, action="store_true")
    composer = Composer(parser.parse_args())
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        composer.run()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    sys.exit(main())
