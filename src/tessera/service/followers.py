"""Those who follow the log: how many there may be, and each one's stream from its start to its end."""

from __future__ import annotations

import logging
from typing import Any

from tessera.errors import TesseraError, Unavailable
from tessera.limits import STREAMS_MAX
from tessera.models import ListEvents
from tessera.rules.grants import Caller
from tessera.service.answers import Pairs
from tessera.service.bells import LOG, Bells
from tessera.service.request import Request
from tessera.service.requests import Gone
from tessera.service.routes import Target
from tessera.service.streams import Stream, start_of
from tessera.service.waits import until_gone
from tessera.storage.port import EngineOnLoop

log = logging.getLogger("tessera.service")


class Followers:
    """The followers of one service."""

    def __init__(self, engine: EngineOnLoop, bells: Bells) -> None:
        self._engine = engine
        self._bells = bells
        self._stopping = False
        self.number = 0

    def stop(self) -> None:
        """Take no more, and let those come to their end that are there."""
        self._stopping = True

    async def follow(
        self, request: Request, target: Target, caller: Caller, ask: ListEvents, headers: Pairs
    ) -> None:
        """Tell the log until the follower hangs up or the service stops. Refuses with `unavailable` when
        there are too many.
        """
        if self.number >= STREAMS_MAX or self._stopping:
            raise Unavailable("no more followers of the log are taken", definite=True)

        async def look(page: ListEvents) -> Any:
            return await self._engine.read(target.run, caller, page)

        ask = start_of(ask, request.headers)
        stream = Stream(request.send, look, ask, lambda: self._stopping)
        self.number += 1
        try:
            with self._bells.listening(LOG) as bell:
                first = await look(ask)
                await stream.start(headers, first)
                try:
                    await until_gone(stream.follow(bell), request.receive)
                except (TesseraError, Gone, TimeoutError) as error:
                    log.info("a stream of the log ended: %s", type(error).__name__)
                await stream.end()
        finally:
            self.number -= 1
