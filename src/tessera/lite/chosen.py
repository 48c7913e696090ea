"""The log that the environment chooses for lite claims."""

from __future__ import annotations

import os
from functools import partial

from tessera.lite.local import LOCAL
from tessera.lite.log import LaterLog, OrderedLog
from tessera.runtime import Runtime
from tessera.settings import log_from_environ


def chosen(runtime: Runtime) -> OrderedLog:
    """The log that lite claims go to, as the environment says. Refuses wrong settings with
    `invalid_request`.
    """
    settings = log_from_environ(os.environ)
    if settings.lite_log == "local":
        return LOCAL
    from tessera.lite.opening import log_of  # what a log in the store need not load

    return log_of(settings, runtime)


def later(runtime: Runtime) -> LaterLog:
    """The same, chosen when something is first asked of it."""
    return LaterLog(partial(chosen, runtime), _at_home)


def _at_home() -> bool:
    return log_from_environ(os.environ).lite_log == "local"
