"""Who is signed in at the pages. A session stands for a key, is kept as the hash of its secret, and opens the
pages alone; whether its key still counts is checked by every verb that a page runs.

Sessions live in the service's memory: a restart signs everybody out, and nothing of them is in a backup.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from msgspec import Struct

from tessera.limits import SECOND_US, SESSION_SECONDS, SESSIONS_MAX, SESSIONS_PER_KEY_MAX
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps.keys import digest

_FORM: Final = b"sign-in form"


class Session(Struct, frozen=True):
    """Somebody signed in: whose key, its hash, the token that their forms carry, and the end on the monotonic
    clock.
    """

    caller: Caller
    key_sha256: str
    form_token: str
    until_us: int


class Sessions:
    """The sessions of one service."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._by_hash: dict[str, Session] = {}  # oldest first
        self._pepper = runtime.token().encode()

    def start(self, caller: Caller, key_sha256: str) -> str:
        """Begin a session and give its secret, this once."""
        self._drop_over()
        own = [name for name, one in self._by_hash.items() if one.key_sha256 == key_sha256]
        for name in own[: max(0, len(own) + 1 - SESSIONS_PER_KEY_MAX)]:
            del self._by_hash[name]
        if len(self._by_hash) >= SESSIONS_MAX:
            del self._by_hash[next(iter(self._by_hash))]
        secret = self._runtime.token()
        until_us = self._runtime.elapsed_us() + SESSION_SECONDS * SECOND_US
        self._by_hash[digest(secret)] = Session(caller, key_sha256, self._runtime.token(), until_us)
        return secret

    def find(self, secret: str | None) -> Session | None:
        """The session of a secret, if it is not over."""
        if not secret:
            return None
        session = self._by_hash.get(digest(secret))
        if session is None or session.until_us <= self._runtime.elapsed_us():
            return None
        return session

    def end(self, secret: str | None) -> None:
        """End a session, if there is one."""
        self._by_hash.pop(digest(secret or ""), None)

    def guest_secret(self) -> str:
        """A secret for the cookie of whoever is about to sign in."""
        return self._runtime.token()

    def guest_token(self, secret: str) -> str:
        """The token that a sign-in form carries beside that cookie."""
        return hmac.new(self._pepper, _FORM + secret.encode(), hashlib.sha256).hexdigest()

    def _drop_over(self) -> None:
        now_us = self._runtime.elapsed_us()
        for name in [name for name, one in self._by_hash.items() if one.until_us <= now_us]:
            del self._by_hash[name]


def same(given: str, expected: str) -> bool:
    """Whether two tokens are equal, compared in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
