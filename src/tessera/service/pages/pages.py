"""The paths of the pages, and what is checked before any of them is shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Final

from msgspec import Struct

from tessera.errors import MethodNotAllowed, NotFound, RateLimited, TesseraError, Unauthorized, Unavailable
from tessera.runtime import Runtime
from tessera.service.answers import NOSNIFF, Answer, Pairs, no_content
from tessera.service.keys import Keys
from tessera.service.pages.admin import Admin
from tessera.service.pages.board import Board
from tessera.service.pages.desk import Asked, Desk, Visit, elsewhere, shown
from tessera.service.pages.docs import Docs
from tessera.service.pages.render import static
from tessera.service.pages.signing import Signing
from tessera.service.pages.work import Work
from tessera.service.requests import Bodies, query_fields, refuse_key_in_query
from tessera.service.routes import matched
from tessera.settings import Settings
from tessera.storage.port import EngineOnLoop

Handler = Callable[[Visit], Awaitable[Answer]]
_STATIC: Final = {
    "style.css": b"text/css; charset=utf-8",
    "board.js": b"text/javascript; charset=utf-8",
    "icon.svg": b"image/svg+xml",
}
_FOR_LONG: Final = (b"cache-control", b"public, max-age=31536000, immutable")  # the address names the bytes


class PageRoute(Struct, frozen=True):
    """A page's path and who answers it. An area wants a sign-in, except to sign in."""

    template: str
    area: str
    get: Handler | None = None
    post: Handler | None = None
    open: bool = False

    @property
    def allow(self) -> str:
        """The methods that the page answers."""
        methods = ["GET, HEAD"] if self.get else []
        return ", ".join([*methods, *(["POST"] if self.post else []), "OPTIONS"])


class Pages:
    """Every page of the service."""

    def __init__(
        self, engine: EngineOnLoop, keys: Keys, bodies: Bodies, settings: Settings, runtime: Runtime
    ) -> None:
        desk = self._desk = Desk(engine, keys, bodies, settings, runtime)
        self._signing = Signing(desk)
        self._board = Board(desk)
        self._docs = Docs(desk)
        routes = [*self._routes(Work(desk), Admin(desk)), *map(_static, _STATIC)]
        self._fixed = {route.template: route for route in routes if "{" not in route.template}
        self._open = [(route.template.split("/"), route) for route in routes if "{" in route.template]
        self._nowhere = {
            area: PageRoute(area + "/{nothing}", area, get=_nothing, open=True)
            for area in sorted({route.area for route in routes})
        }
        self.sample = self._board.sample

    def _routes(self, work: Work, admin: Admin) -> Iterable[PageRoute]:
        yield PageRoute("/", "/board", get=_to_the_board, open=True)
        yield PageRoute("/board", "/board", get=self._board.show, open=True)
        yield PageRoute("/docs", "/docs", get=self._docs.operations, open=True)
        yield PageRoute("/docs/models", "/docs", get=self._docs.models, open=True)
        for area in ("/work", "/admin"):
            yield PageRoute(f"{area}/sign-in", area, post=self._signing.sign_in, open=True)
            yield PageRoute(f"{area}/sign-out", area, post=self._signing.sign_out)
        yield PageRoute("/work", "/work", get=work.tasks)
        yield PageRoute("/work/tasks/{task_id}", "/work", get=work.task, post=work.resume)
        yield PageRoute("/admin", "/admin", get=admin.queues)
        yield PageRoute("/admin/tasks", "/admin", get=admin.tasks)
        yield PageRoute("/admin/tasks/{task_id}", "/admin", get=admin.task)
        yield PageRoute("/admin/tasks/{task_id}/cancel", "/admin", post=admin.cancel)
        yield PageRoute("/admin/tasks/{task_id}/requeue", "/admin", post=admin.requeue)
        yield PageRoute("/admin/queues/{queue}/pause", "/admin", post=admin.pause)
        yield PageRoute("/admin/queues/{queue}/resume", "/admin", post=admin.resume)
        yield PageRoute("/admin/keys", "/admin", get=admin.keys)
        yield PageRoute("/admin/keys/{key_id}/revoke", "/admin", post=admin.revoke)

    def find(self, raw_path: str) -> tuple[PageRoute, dict[str, str]] | None:
        """The page of a path that is still percent-encoded, and what stands for its names. Below an area
        there is a page for every path, if only to say that there is nothing.
        """
        if (route := self._fixed.get(raw_path)) is not None:
            return route, {}
        parts = raw_path.split("/")
        for names, route in self._open:
            if len(names) == len(parts) and (named := matched(names, parts)) is not None:
                return route, named
        nowhere = self._nowhere.get("/" + parts[1]) if len(parts) > 2 else None
        return None if nowhere is None else (nowhere, {})

    async def answer(self, request: Asked, route: PageRoute, named: dict[str, str], address: str) -> Answer:
        """A page, its act, or the page that says why not."""
        visit = Visit(request, route.area, named, address)
        try:
            refuse_key_in_query(request.query)
            visit.fields = query_fields(request.query)
            return await self._answer(visit, route)
        except Unauthorized as refusal:
            if visit.session is not None:
                return self._signing.over(visit)
            return _refused(visit, refusal)
        except TesseraError as refusal:
            return _refused(visit, refusal)

    async def _answer(self, visit: Visit, route: PageRoute) -> Answer:
        method = visit.request.method
        if method == "OPTIONS":
            return no_content([(b"allow", route.allow.encode())])
        if method == "POST" and route.post is not None:
            return await self._post(visit, route, route.post)
        if method not in ("GET", "HEAD") or route.get is None:
            raise MethodNotAllowed(allow=route.allow)
        if route.open:
            return await route.get(visit)
        self._desk.enter(visit)
        return self._signing.ask(visit) if visit.session is None else await route.get(visit)

    async def _post(self, visit: Visit, route: PageRoute, act: Handler) -> Answer:
        """An act: only by a form of ours, sent by whoever got it."""
        self._desk.enter(visit)
        await self._desk.read_form(visit)
        if route.open:
            return await act(visit)
        if visit.session is None:
            return self._signing.ask(visit, "You are signed out, and nothing was done.")
        self._desk.refuse_others_form(visit, visit.session.form_token)
        return await act(visit)


async def _nothing(visit: Visit) -> Answer:
    raise NotFound("there is nothing at this path")


async def _to_the_board(visit: Visit) -> Answer:
    """The address that `serve` prints is what a person opens first."""
    return elsewhere("/board")


def _refused(visit: Visit, refusal: TesseraError) -> Answer:
    """A refusal as a page."""
    more: Pairs = []
    problem = refusal.problem()
    if isinstance(refusal, RateLimited | Unavailable):
        more.append((b"retry-after", str(problem.get("retry_after_seconds", 1)).encode()))
    if isinstance(refusal, MethodNotAllowed):
        more.append((b"allow", str(problem["allow"]).encode()))
    answer = shown(visit, "problem.html", refusal.status, more, problem=problem)
    answer.code = refusal.code
    return answer


def _static(name: str) -> PageRoute:
    body = static(name)

    async def give(visit: Visit) -> Answer:
        return Answer(HTTPStatus.OK, [(b"content-type", _STATIC[name]), _FOR_LONG, NOSNIFF], body)

    return PageRoute(f"/pages/{name}", "/board", get=give, open=True)
