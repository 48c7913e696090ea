"""Which keys begin with a prefix, as a range that an index can seek. Pure."""

from __future__ import annotations

from typing import Final

_AFTER_EVERY_KEY: Final = "\x7f"  # keys are visible ASCII


def beyond(prefix: str) -> str:
    """A text after every key that begins with `prefix` and before every later key, in byte order. The prefix
    is taken literally: no character of it stands for others, and case matters.
    """
    return prefix + _AFTER_EVERY_KEY
