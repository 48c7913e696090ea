"""The one window to time, chance and sudden death. Nothing else in the house imports a clock or a random
source.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from weakref import WeakSet

from tessera.limits import SECOND_US

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything the house may learn from outside."""

    now_us: Callable[[], int]  # wall clock, microseconds since 1970; may jump
    elapsed_us: Callable[[], int]  # monotonic, from any start; never jumps
    sleep: Callable[[float], None]  # seconds
    uniform: Callable[[float, float], float]
    token: Callable[[], str]  # a fresh bearer secret of 32 random bytes
    new_id: Callable[[str], str]  # prefix -> an id that sorts by creation
    reach: Callable[[str], None]  # a named crash point; nothing in production
    scripted: bool = False  # whether now_us counts also for a store that has a clock of its own


def real_runtime() -> Runtime:
    """Real clock, real chance, and the crash point that TESSERA_CRASH_AT names, if any."""
    at = os.environ.get("TESSERA_CRASH_AT")
    return Runtime(
        now_us=lambda: time.time_ns() // 1_000,
        elapsed_us=lambda: time.monotonic_ns() // 1_000,
        sleep=time.sleep,
        uniform=random.SystemRandom().uniform,
        token=lambda: secrets.token_urlsafe(32),
        new_id=_ids(),
        reach=_dies_at(at) if at else _goes_on,
    )


@lru_cache(maxsize=4_096)  # the verbs of one transaction share their instants
def rfc3339(instant_us: int) -> str:
    """An instant as the wire shows it: UTC, six digits of microseconds, `Z`. (RFC 3339; contract §2.)"""
    seconds, micros = divmod(instant_us, SECOND_US)
    return f"{_second(seconds)}.{micros:06d}Z"


def rfc3339_or_none(instant_us: int | None) -> str | None:
    """The same for an instant that may be missing."""
    return None if instant_us is None else rfc3339(instant_us)


def instant_us(stamp: str) -> int:
    """The instant that such a string shows, in microseconds since 1970. Raises ValueError for no such day."""
    return (datetime.fromisoformat(stamp) - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=4_096)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


# A forked child has its parent's state and would draw the same ids, so that two children that claim in one
# millisecond would be told of one lease: each begins anew.
_chances: WeakSet[random.Random] = WeakSet()


def _draw_anew() -> None:
    for chance in _chances:
        chance.seed(secrets.token_bytes(32))


os.register_at_fork(after_in_child=_draw_anew)


def _ids() -> Callable[[str], str]:
    """UUIDv7 in hex (RFC 9562 §5.7): 48 bits of milliseconds, a 12-bit count within one, 62 random bits."""
    chance = random.Random(secrets.token_bytes(32))  # noqa: S311 - ids are names, not secrets
    _chances.add(chance)
    last_ms, count = 0, 0

    def new_id(prefix: str) -> str:
        nonlocal last_ms, count
        now_ms = time.time_ns() // 1_000_000
        count = count + 1 if now_ms <= last_ms else 0
        last_ms = max(now_ms, last_ms)
        if count > 0xFFF:
            last_ms, count = last_ms + 1, 0
        tail = 1 << 63 | chance.getrandbits(62)
        return f"{prefix}{last_ms:012x}7{count:03x}{tail:016x}"

    return new_id


def _goes_on(_point: str) -> None:
    """Production: crash points are only names."""


def _dies_at(setting: str) -> Callable[[str], None]:
    """`name[:nth]`: die like a power cut would, without clean-up, at the nth time that point is reached."""
    name, _, nth = setting.partition(":")
    left = int(nth or 1)

    def reach(point: str) -> None:
        nonlocal left
        if point == name:
            left -= 1
            if left == 0:
                os._exit(137)

    return reach
