"""What a look may not do, on every engine."""

from __future__ import annotations

from typing import NoReturn


class ReadOnly:
    """The part of a look's view that writes: none of it."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a look may not write")

    write = save = save_all = count = event = ready = after_commit = _refuse
    alarm = quiet = pass_over = quiet_until = _refuse
