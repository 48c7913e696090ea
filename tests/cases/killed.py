"""Processes that are killed before the nth statement of one verb. Run as a program by the cases:

    killed.py VERB ASK INSTANT_US COPY…

The process of the nth copy is killed before its nth statement; that of the last one lives. How each one ended
(a signal as a negative number) is the output, a line each.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import apsw

import tessera
from tessera.testing import World


class Countdown:
    """Lets statements pass, up to the one that it dies before."""

    def __init__(self) -> None:
        self.left = 0

    def __call__(self, _cursor: Any, _text: str, _bindings: Any) -> bool:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return True


def run(path: str, nth: int, verb: str, ask: bytes, now_us: int) -> None:
    """Carry out the verb at an instant, dying before its nth statement; 0: never."""
    countdown = Countdown()

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = countdown

    apsw.connection_hooks.append(watch)
    with tessera.open(path, runtime=World(now_us=now_us).runtime()) as store:
        countdown.left = nth
        store._door.call(verb, ask)


def main(verb: str, ask: str, now_us: str, *copies: str) -> None:
    """One child for each copy."""
    for nth, copy in enumerate(copies, 1):
        child = os.fork()
        if not child:
            run(copy, nth if nth < len(copies) else 0, verb, ask.encode(), int(now_us))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
