"""Who holds a key. A key is looked up once and then remembered by its hash; that it still counts is checked
in every transaction that acts for it, so a revoked or expired one counts no more at that instant.
"""

from __future__ import annotations

from tessera.errors import RateLimited, Unauthorized
from tessera.limits import KEYS_REMEMBERED_MAX, WRONG_KEYS_AT_ONCE, WRONG_KEYS_SECONDS
from tessera.rules.buckets import Buckets
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.service.requests import Headers
from tessera.steps.keys import digest
from tessera.storage.port import EngineOnLoop
from tessera.surface import caller_for

NOBODY = Caller(queues=frozenset(), kinds=frozenset(), effects=frozenset())  # asks what needs no key
_PREFIX_CHARS = 16


class Keys:
    """Keys at the door. Wrong ones are throttled, for each address and each beginning of a key; right ones
    never are, for a key is looked up before anything is held against it.
    """

    def __init__(self, engine: EngineOnLoop, runtime: Runtime) -> None:
        self._engine = engine
        self._now_us = runtime.elapsed_us
        self._callers: dict[str, Caller] = {}
        self._wrong = Buckets(WRONG_KEYS_AT_ONCE, WRONG_KEYS_SECONDS)

    async def caller(self, secret: str, address: str) -> Caller:
        """Who a secret stands for, or `unauthorized`, or `rate_limited` after many wrong ones."""
        if (known := self.known(secret)) is not None:
            return known
        sha256 = digest(secret)
        try:
            caller: Caller = await self._engine.submit(caller_for, sha256)
        except Unauthorized:
            self._throttle(secret, address)
            raise
        if len(self._callers) >= KEYS_REMEMBERED_MAX:
            self._callers.clear()
        self._callers[sha256] = caller
        return caller

    def known(self, secret: str) -> Caller | None:
        """Who a secret stands for, if it has been looked up before."""
        return self._callers.get(digest(secret))

    def forget(self) -> None:
        """Look every key up anew: somebody else has written to the store."""
        self._callers.clear()

    def _throttle(self, secret: str, address: str) -> None:
        now = self._now_us()
        prefix = digest(secret[:_PREFIX_CHARS])
        for name in (f"address {address}", f"prefix {prefix}"):
            if (seconds := self._wrong.take(name, now)) is not None:
                raise RateLimited("too many wrong keys", retry_after_seconds=seconds)


def secret_of(headers: Headers) -> str:
    """The secret of a request's `Authorization` header, or `unauthorized`."""
    if headers.is_twice(b"authorization"):
        raise Unauthorized("the header authorization was sent twice: which key counts?")
    authorization = headers.last(b"authorization")
    if authorization is None:
        raise Unauthorized("no key: send Authorization: Bearer KEY")
    scheme, _, secret = authorization.partition(b" ")
    if scheme.lower() != b"bearer" or not secret:
        raise Unauthorized("no key: send Authorization: Bearer KEY")
    return secret.strip().decode("latin-1")
