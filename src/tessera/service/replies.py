"""What is the same for every answer, whichever way its request took: its id, the headers that it carries, the
answer to what went wrong, and what is counted and logged of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http import HTTPStatus
from itertools import count
from typing import Any, Final

from tessera.errors import TesseraError
from tessera.runtime import Runtime
from tessera.service import answers
from tessera.service.answers import Answer, Pairs, Words
from tessera.service.cors import Cors
from tessera.service.logs import RequestLog
from tessera.service.metrics import EMPTY, OK, Metrics
from tessera.service.request import Request
from tessera.service.requests import Headers

log = logging.getLogger("tessera.service")

NO_CONTENT: Final = HTTPStatus.NO_CONTENT
CLOSE: Final = (b"connection", b"close")


class Replies:
    """Every reply of one service."""

    def __init__(
        self, runtime: Runtime, cors: Cors, metrics: Metrics, requests: RequestLog, spans: Any
    ) -> None:
        self._elapsed_us = runtime.elapsed_us
        self._cors = cors
        self._metrics = metrics
        self._log = requests
        self._spans = spans
        self._ids: Iterator[str] = map(f"{runtime.new_id('q_')[-12:]}-{{:x}}".format, count(1))
        self.stopping = False  # then every answer is its connection's last

    def begin(self, request: Request) -> None:
        """A request has come."""
        request.id = next(self._ids)
        request.started_us = self._elapsed_us()

    def failed(self, request: Request, error: BaseException) -> Answer:
        """The answer to a refusal; of anything unforeseen the log learns and the client does not."""
        if isinstance(error, TesseraError):
            return answers.refused(error)
        log.error("request %s failed", request.id, exc_info=error)
        return answers.refused(TesseraError())

    def refuse_unheard(self, refusal: TesseraError, client: Any, words: Words) -> None:
        """Answer what came instead of a request like any other."""
        request = Request("-", "-", Headers(()), client, words)
        self.begin(request)
        answer = self.failed(request, refusal)
        answer.reply(self.headers(request), words)
        self.note(request, answer)

    def headers(self, request: Request) -> Pairs:
        """What an answer carries beside its own."""
        more = [(b"x-request-id", request.id.encode()), *self._cors.headers(request.headers)]
        if self.stopping or (request.words is not None and request.words.unread()):
            more.append(CLOSE)
        return more

    def note(self, request: Request, answer: Answer | None, outcome: str = OK) -> None:
        """Count and log what a request came to. Without an answer it went out in pieces, or nobody was there
        any more, as `outcome` says.
        """
        status, code = (0, None) if answer is None else (answer.status, answer.code)
        outcome = code or (EMPTY if status == NO_CONTENT else outcome)
        self._metrics.answered(status)
        if request.verb is not None:
            self._metrics.came(request.verb, outcome)
        if self._spans is not None:
            self._spans.came(request.verb, f"{request.method} {request.route}", outcome, status)
        self._log.note(
            request.id,
            request.method if request.route != "-" else "-",
            request.route,
            status,
            (self._elapsed_us() - request.started_us) / 1_000,
            None if request.caller is None else request.caller.key_id,
            code,
        )
