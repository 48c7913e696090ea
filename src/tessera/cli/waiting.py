"""Asking again until there is an answer or the time is up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tessera.limits import SECOND_US
from tessera.runtime import real_runtime

POLL_SECONDS: Final = 1.0  # the longest pause, so that news of another process is noticed soon
Answer = TypeVar("Answer")


def ask_until(
    ask: Callable[[], Answer], pause: Callable[[Answer], float | None], within: float | None
) -> Answer:
    """Ask until `pause` says None (enough) or `within` seconds have passed; the last answer.

    `pause` tells how many seconds to let pass before asking again. Without `within` there is no end.
    """
    runtime = real_runtime()
    start_us = runtime.elapsed_us()
    while True:
        answer = ask()
        seconds = pause(answer)
        spent = (runtime.elapsed_us() - start_us) / SECOND_US
        if seconds is None or (within is not None and spent >= within):
            return answer
        left = POLL_SECONDS if within is None else within - spent
        runtime.sleep(min(seconds, POLL_SECONDS, left))
