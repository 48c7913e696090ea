"""Signing in with a key, and out again."""

from __future__ import annotations

import re
from http import HTTPStatus

from tessera.errors import Unauthorized
from tessera.limits import SESSION_SECONDS
from tessera.service.answers import Answer, Pairs
from tessera.service.pages.desk import Desk, Visit, elsewhere, shown
from tessera.steps.keys import digest

_BEARER = (b"www-authenticate", b"Bearer")
_GUEST = "sign-in"
_PLACE = re.compile(r"/(?:work|admin)(?:/[A-Za-z0-9_.:~%-]+)*\Z")  # of ours, and of no other site


class Signing:
    """The sign-in form of both areas."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def ask(self, visit: Visit, wrong: str | None = None, status: int = HTTPStatus.UNAUTHORIZED) -> Answer:
        """The form, with what was wrong before."""
        secret = self._desk.cookie(visit, _GUEST) or self._desk.sessions.guest_secret()
        more: Pairs = [self._desk.set_cookie(visit, _GUEST, secret, SESSION_SECONDS)]
        if status == HTTPStatus.UNAUTHORIZED:
            more.append(_BEARER)
        visit.session = None
        token = self._desk.sessions.guest_token(secret)
        path = visit.request.scope.get("raw_path", b"").decode("latin-1")
        wanted = path if visit.request.method == "GET" else visit.told("next")
        return shown(visit, "sign_in.html", status, more, wrong=wrong, guest_token=token, wanted=wanted)

    def over(self, visit: Visit) -> Answer:
        """The same after a session whose key counts no more."""
        self._desk.sessions.end(visit.secret)
        return self.ask(visit, "The key that was signed in counts no more. Nothing was done.")

    async def sign_in(self, visit: Visit) -> Answer:
        """Begin a session for the holder of a key; an earlier one of this browser ends."""
        guest = self._desk.cookie(visit, _GUEST)
        visit.session = None
        self._desk.refuse_others_form(visit, self._desk.sessions.guest_token(guest or ""))
        if guest is None:
            return self.ask(visit, "This browser sent no cookie back: sign in again.")
        secret = visit.told("key").strip()
        try:
            caller = await self._desk.keys.caller(secret, visit.address)
            await self._desk.engine.read(self._desk.stands, caller, None)
        except Unauthorized as refusal:
            return self.ask(visit, refusal.detail)
        self._desk.sessions.end(visit.secret)
        session = self._desk.sessions.start(caller, digest(secret))
        visit.request.caller = caller
        wanted = visit.told("next")
        return elsewhere(
            wanted if _PLACE.match(wanted) else visit.area,
            [
                self._desk.set_cookie(visit, "session", session, SESSION_SECONDS),
                self._desk.set_cookie(visit, _GUEST, "", 0),
            ],
        )

    async def sign_out(self, visit: Visit) -> Answer:
        """End the session."""
        self._desk.sessions.end(visit.secret)
        return elsewhere(visit.area, [self._desk.set_cookie(visit, "session", "", 0)])
