"""The service's log on standard error: a line for each request, and what the house has to say. A line names
the route's template, never a path or a query, and whatever looks like a key is struck out.
"""

from __future__ import annotations

import logging
import re
from asyncio import AbstractEventLoop
from typing import Final, TextIO

import msgspec

from tessera.runtime import Runtime, rfc3339

_FLUSH_SECONDS: Final = 0.1
_FLUSH_LINES: Final = 500
_SECRET = re.compile(r"(tessera|approval)_[A-Za-z0-9_-]{16,}")
_encode = msgspec.json.Encoder().encode


class HouseFormatter(logging.Formatter):
    """Lines of Python's logging, as text or as one JSON object each, without keys."""

    def __init__(self, runtime: Runtime, as_json: bool) -> None:
        super().__init__()
        self._now_us = runtime.now_us
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """One line, or several with a traceback."""
        said = super().format(record)
        said = _SECRET.sub(r"\1_[struck out]", said)
        at = rfc3339(self._now_us())
        if not self._as_json:
            return f"{at} {record.levelname.lower()} {record.name}: {said}"
        line = {"at": at, "level": record.levelname.lower(), "logger": record.name, "message": said}
        return _encode(line).decode(errors="replace")


def set_up(stream: TextIO, runtime: Runtime, as_json: bool) -> None:
    """Send everything that the house and its server log to one stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(HouseFormatter(runtime, as_json))
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for quiet in ("uvicorn.error", "asyncio", "mcp"):
        logging.getLogger(quiet).setLevel(logging.WARNING)


class RequestLog:
    """A line for each request, written in bundles a tenth of a second after the first: a line at a time would
    cost as much as a verb.
    """

    def __init__(self, stream: TextIO, runtime: Runtime, as_json: bool, loop: AbstractEventLoop) -> None:
        self._stream = stream
        self._runtime = runtime
        self._as_json = as_json
        self._loop = loop
        self._lines: list[str] = []

    def note(
        self, request_id: str, method: str, route: str, status: int, ms: float, key_id: str | None,
        code: str | None,
    ) -> None:  # fmt: skip
        """Log one request: `status` 0 when nobody was there to answer, `ms` until it was answered."""
        at = rfc3339(self._runtime.now_us())
        if self._as_json:
            line = {
                "at": at, "id": request_id, "method": method, "route": route, "status": status, "ms": ms,
                "key": key_id, "code": code,
            }  # fmt: skip
            self._lines.append(_encode(line).decode())
        else:
            self._lines.append(
                f"{at} {request_id} {method} {route} {status} {ms:.1f} {key_id or '-'} {code or '-'}"
            )
        if len(self._lines) == 1:
            self._loop.call_later(_FLUSH_SECONDS, self.flush)
        elif len(self._lines) >= _FLUSH_LINES:
            self.flush()

    def flush(self) -> None:
        """Write what is due. A stream that nobody reads any more costs lines, not requests."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        try:
            self._stream.write("\n".join(lines) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self._lines.clear()
