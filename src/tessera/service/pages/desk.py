"""What all pages share: a visit, its form, its session, and the way to the verbs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, quote

from tessera.errors import Forbidden, InvalidRequest, UnsupportedMedia
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.service.answers import NO_STORE, NOSNIFF, Answer, Pairs
from tessera.service.keys import Keys
from tessera.service.pages.render import page
from tessera.service.pages.sessions import Session, Sessions, same
from tessera.service.requests import Bodies, Headers, Receive, Scope
from tessera.settings import Settings
from tessera.steps.keys import digest
from tessera.storage.port import EngineOnLoop, Transaction
from tessera.surface import SURFACE
from tessera.verbs.guarded import Guarded

HTML: Final = (b"content-type", b"text/html; charset=utf-8")
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; {more}form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
GUARD: Final[Pairs] = [
    NOSNIFF,
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
POLICY: Final = (b"content-security-policy", _POLICY.format(more="").encode())
POLICY_LIVE: Final = (  # of the one page with a script
    b"content-security-policy",
    _POLICY.format(more="script-src 'self'; connect-src 'self'; ").encode(),
)
FORM: Final = b"application/x-www-form-urlencoded"
FORM_FIELDS_MAX: Final = 2_000
_KEY = re.compile(r"tessera_[A-Za-z0-9_-]{16,}")
_COOKIE = re.compile(r"[A-Za-z0-9_-]{20,80}\Z")


class Asked(Protocol):
    """What a page needs to know of its request."""

    method: str
    query: bytes
    headers: Headers
    receive: Receive
    scope: Scope
    caller: Caller | None


class Visit:
    """One request on its way through the pages."""

    __slots__ = ("address", "area", "fields", "form", "named", "request", "secret", "secure", "session")

    def __init__(self, request: Asked, area: str, named: dict[str, str], address: str) -> None:
        self.request = request
        self.area = area
        self.named = named
        self.address = address
        self.fields: dict[str, str] = {}
        self.form: dict[str, list[str]] = {}
        self.secret: str | None = None
        self.session: Session | None = None
        self.secure = False

    def told(self, name: str) -> str:
        """A field of the form that is given once, or nothing."""
        values = self.form.get(name, [])
        return values[0] if len(values) == 1 else ""

    @property
    def caller(self) -> Caller:
        """Whose key is signed in."""
        assert self.session is not None
        return self.session.caller


class Desk:
    """The engine, the keys and the sessions behind the pages."""

    def __init__(
        self, engine: EngineOnLoop, keys: Keys, bodies: Bodies, settings: Settings, runtime: Runtime
    ) -> None:
        self.engine = engine
        self.keys = keys
        self.runtime = runtime
        self.sessions = Sessions(runtime)
        self._bodies = bodies
        self._local = settings.host.startswith(("localhost", "127.", "::1")) and not settings.edge_secret
        self.stands = Guarded(_nothing, None)  # asks no more than whether a key still counts
        self._acts = {name: SURFACE[name].run() for name in SURFACE}

    async def look(self, visit: Visit, look: str | Guarded, ask: Any) -> Any:
        """What a look answers to whoever is signed in."""
        run = self._acts[look] if isinstance(look, str) else look
        return await self.engine.read(run, visit.caller, ask)

    async def act(self, visit: Visit, verb: str, ask: Any) -> Any:
        """Run a verb of the surface for whoever is signed in."""
        return await self.engine.submit(self._acts[verb], visit.caller, ask)

    def enter(self, visit: Visit) -> None:
        """Find out who is signed in."""
        visit.secure = visit.request.scope.get("scheme") == "https" or not self._local
        visit.secret = self.cookie(visit, "session")
        visit.session = self.sessions.find(visit.secret)
        if visit.session is not None:
            visit.request.caller = visit.session.caller

    async def read_form(self, visit: Visit) -> None:
        """The form of a POST. Refuses one that a page of another site has sent, as browsers say."""
        headers = visit.request.headers
        if headers.last(b"sec-fetch-site") not in (None, b"same-origin", b"none"):
            raise Forbidden("the form was sent by a page of another site; nothing was done")
        body = await self._bodies.read(headers, visit.request.receive)
        kind, _, _ = (headers.get(b"content-type") or b"").partition(b";")
        if kind.strip().lower() != FORM:
            raise UnsupportedMedia("this takes the form of the page")
        try:
            pairs = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FORM_FIELDS_MAX
            )
        except ValueError as error:
            raise InvalidRequest("the form cannot be read") from error
        for name, value in pairs:
            visit.form.setdefault(name, []).append(value)

    def refuse_others_form(self, visit: Visit, token: str) -> None:
        """Refuse a form without the token of whoever got it, or with the key that they signed in by."""
        if not same(visit.told("form"), token):
            raise Forbidden("the form is old, or not of this page; nothing was done: open the page again")
        if visit.session is None:
            return
        for values in visit.form.values():
            if any(digest(key) == visit.session.key_sha256 for text in values for key in _KEY.findall(text)):
                raise InvalidRequest(
                    "the form holds the key that signed in: a key is never part of an answer"
                )

    def cookie(self, visit: Visit, name: str) -> str | None:
        """One of our cookies, if it looks like one that we set."""
        header = (visit.request.headers.last(b"cookie") or b"").decode("latin-1")
        wanted = self._cookie_name(visit, name)
        values = [
            value.strip()
            for key, _, value in (part.partition("=") for part in header.split(";"))
            if key.strip() == wanted
        ]
        return values[0] if len(values) == 1 and _COOKIE.match(values[0]) else None

    def set_cookie(self, visit: Visit, name: str, value: str, seconds: int) -> tuple[bytes, bytes]:
        """A cookie that no script reads and no other site sends; 0 seconds take it away."""
        text = (
            f"{self._cookie_name(visit, name)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict"
        )
        return b"set-cookie", (text + "; Secure" if visit.secure else text).encode()

    @staticmethod
    def _cookie_name(visit: Visit, name: str) -> str:
        return f"__Host-tessera-{name}" if visit.secure else f"tessera-{name}"


def _nothing(tx: Transaction, runtime: Runtime, caller: Caller, ask: None) -> None:
    """What is done for whoever signs in."""


def shown(
    visit: Visit, template: str, status: int = HTTPStatus.OK, more: Pairs | None = None, **words: Any
) -> Answer:
    """A page for whoever is signed in, or nobody."""
    session = visit.session
    body = page(
        template,
        area=visit.area,
        admin=session is not None and session.caller.admin,
        key_id=None if session is None else session.caller.key_id,
        form_token="" if session is None else session.form_token,
        **words,
    )
    return Answer(status, [HTML, NO_STORE, POLICY, *GUARD, *(more or [])], body)


async def drawn(desk: Desk, visit: Visit, template: str, status: int = HTTPStatus.OK, **words: Any) -> Answer:
    """The same for a page that may be long: made in a thread, so that nobody else waits for it."""
    return await desk.engine.compute(partial(shown, visit, template, status, **words))


def elsewhere(path: str, more: Pairs | None = None) -> Answer:
    """Go on at another page of ours, by GET."""
    place = [(b"location", path.encode()), NO_STORE, POLICY, *GUARD]
    return Answer(HTTPStatus.SEE_OTHER, [*place, *(more or [])])


def path_of(*parts: str, **fields: str | None) -> str:
    """A path of ours from its parts, with a query of those fields that are set."""
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items() if value)
    return "/" + "/".join(quote(part, safe="") for part in parts) + (f"?{query}" if query else "")


def refuse_fields(fields: Mapping[str, str], *known: str) -> None:
    """Refuse a query that says more than a page knows."""
    if not fields.keys() <= set(known):
        raise InvalidRequest(f"this page knows no other fields than {', '.join(known) or 'none'}")
