"""The express way: a request that has arrived whole, for a verb that is one transaction, goes from its bytes
to the bytes of its answer by calls alone. Most of what a swarm asks is of that kind, claims, heartbeats and
submits, and a task of the loop, its futures and the scope of ASGI cost more than such a verb.

Whatever is not as it should be, a wrong key, a body that is none, a claim that waits, takes the ordinary way
(`service.py`) from its beginning, which says what is wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from tessera.errors import TesseraError
from tessera.models import Claim, ClaimBatch, Empty
from tessera.rules.grants import Caller
from tessera.rules.tracing import of_tasks
from tessera.runtime import Runtime
from tessera.service import answers, tracing
from tessera.service.answers import Pairs, Words
from tessera.service.edge import Edge
from tessera.service.gate import Turn
from tessera.service.keys import Keys, secret_of
from tessera.service.metrics import GONE, Metrics
from tessera.service.replies import Replies
from tessera.service.request import Request
from tessera.service.requests import Headers, ask_of_body, refuse_own_key, refuse_unread
from tessera.service.routes import BATCHES, Routes, Target
from tessera.service.waits import Waits
from tessera.storage.port import EngineOnLoop

EXPRESS_BODY_BYTES_MAX: Final = 65_536


class Express:
    """The express way of one service."""

    def __init__(
        self, engine: EngineOnLoop, routes: Routes, keys: Keys, edge: Edge, waits: Waits, replies: Replies,
        metrics: Metrics, runtime: Runtime,
    ) -> None:  # fmt: skip
        self.call = engine.call
        self.soon = asyncio.get_running_loop().call_soon
        self.waits = waits
        self.replies = replies
        self.metrics = metrics
        self.elapsed_us = runtime.elapsed_us
        self._keys = keys
        self._edge = edge
        self._targets = {
            route.template.encode(): target
            for route in routes
            if "{" not in route.template
            and (target := route.target("POST", {})) is not None
            and _is_one_transaction(target)
        }

    @property
    def paths(self) -> Iterable[bytes]:
        """Where requests may come that can go this way."""
        return self._targets.keys()

    def passage(self, path: bytes, pairs: Pairs, client: Any) -> Passage | None:
        """How a POST goes this way, by its headers; None if it does not."""
        target = self._targets[path]
        headers = Headers(pairs)
        request = Request("POST", target.row.path or "", headers, client, None)
        try:
            self._edge.refuse(request)
            caller = self._keys.known(secret_of(headers))
            refuse_unread(headers, EXPRESS_BODY_BYTES_MAX)
        except TesseraError:
            return None
        if caller is None or headers.last(b"content-length") is None:  # whose body is in chunks
            return None
        request.route, request.verb, request.caller = request.path, target.row.name, caller
        return Passage(self, request, target, caller)


def _is_one_transaction(target: Target) -> bool:
    row = target.row
    return not (
        row.reads
        or row.takes_steps
        or row.body == "bytes"
        or row.needs == "nothing"
        or issubclass(row.ask, BATCHES)
    )


class Passage:
    """One request on its way."""

    __slots__ = ("_ask", "_caller", "_express", "_request", "_since_us", "_target", "_turn", "_words")

    def __init__(self, express: Express, request: Request, target: Target, caller: Caller) -> None:
        self._express = express
        self._request = request
        self._target = target
        self._caller = caller

    def heard(self, body: bytes) -> bool:
        """Whether the request goes this way, now that its body is there."""
        headers = self._request.headers
        try:
            refuse_own_key(headers, body)
            ask = ask_of_body(self._target.row, {}, {}, headers, body)
        except TesseraError:
            return False
        self._ask = of_tasks(ask, tracing.traceparent_of(headers))
        return not (isinstance(ask, Claim) and ask.wait_seconds)

    def go(self, words: Words) -> None:
        """Take it; the answer goes out by the words."""
        express, request = self._express, self._request
        self._words = request.words = words
        express.replies.begin(request)
        self._since_us = request.started_us
        if isinstance(self._ask, Claim):
            self._to_the_gate(self._ask)
        else:
            express.call(self._ran, self._target.run, self._caller, self._ask)

    def _ran(self, outcome: Any) -> None:
        express = self._express
        express.metrics.took(self._target.row.name, express.elapsed_us() - self._since_us)
        self._reply(outcome)

    def _to_the_gate(self, ask: Claim) -> None:
        gate, key_id = self._express.waits.gate, self._caller.key_id
        try:
            gate.count(key_id)
        except TesseraError as refusal:
            self._reply(refusal)
        else:
            gate.ask(self._enter, key_id, ask.limit if isinstance(ask, ClaimBatch) else 1)

    def _enter(self, turn: Turn | TesseraError) -> None:
        if isinstance(turn, TesseraError):
            self._reply(turn)
            return
        if self._words.is_closing():
            self._express.waits.gate.leave(turn, got=False)
            self._gone()
            return
        self._turn = turn
        self._express.call(self._claimed, self._target.run, self._caller, self._ask)

    def _claimed(self, outcome: Any) -> None:
        express = self._express
        took_us = express.waits.gate.leave(self._turn, got=not isinstance(outcome, Empty | Exception))
        express.metrics.took(self._target.row.name, took_us)
        express.soon(self._hand_over, outcome)  # until then the loop hears who has hung up

    def _hand_over(self, outcome: Any) -> None:
        if self._words.is_closing():
            assert isinstance(self._ask, Claim)
            self._express.waits.give_back(self._caller, self._ask, outcome)
            self._gone()
        else:
            self._reply(outcome)

    def _reply(self, outcome: Any) -> None:
        replies, request = self._express.replies, self._request
        try:
            if isinstance(outcome, BaseException):
                answer = replies.failed(request, outcome)
            else:
                answer = answers.answered(self._target.row, outcome)
        except Exception as error:  # nobody stands above to say so
            answer = replies.failed(request, error)
        answer.reply(replies.headers(request), self._words)
        replies.note(request, answer)

    def _gone(self) -> None:
        self._express.replies.note(self._request, None, GONE)
