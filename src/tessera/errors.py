"""Every refusal Tessera can give, one class per code. (Specification §8.)

The docstring's first line is the default detail. `definite` says whether the request certainly changed
nothing, so a caller knows if trying again is safe. Each door renders these once; nothing in the house
recognises an error by its text.
"""

from __future__ import annotations

from typing import Any, ClassVar


class TesseraError(Exception):
    """Something unforeseen happened.

    The base of every refusal; the others are classes of their own in `tessera.errors`. `code` names it, such
    as `not_found`; `detail` says what to do; `definite` is whether the request certainly changed nothing;
    `status` is its status over HTTP, and `extra` holds what else it tells, such as `current_version`.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"
    definite: bool = False

    def __init__(self, detail: str | None = None, **extra: object) -> None:
        super().__init__(detail or str(type(self).__doc__).partition("\n")[0])
        self.extra = extra

    @property
    def detail(self) -> str:
        """What was wrong with the request, or with the store, and what to do."""
        return str(self.args[0])

    @property
    def retry_after(self) -> int | None:
        """After how many seconds asking again may help, if the refusal says so."""
        seconds = self.extra.get("retry_after_seconds")
        return seconds if isinstance(seconds, int) else None

    def problem(self) -> dict[str, object]:
        """The RFC 9457 problem document of this refusal."""
        return {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "definite": self.definite,
            **self.extra,
        }


class InvalidRequest(TesseraError):
    """The request breaks a rule of its model or exceeds a limit."""

    code, status, title, definite = "invalid_request", 400, "Invalid request", True


class UnsupportedMedia(InvalidRequest):
    """The body is compressed or no JSON: send plain JSON in UTF-8."""

    status = 415


class TargetTooLong(InvalidRequest):
    """The path and the query together are too long."""

    status = 414


class HeadersTooLarge(InvalidRequest):
    """The headers are too many, or too long together."""

    status = 431


class Unauthorized(TesseraError):
    """The key is missing, unknown, expired or revoked."""

    code, status, title, definite = "unauthorized", 401, "Unauthorized", True


class Forbidden(TesseraError):
    """The key does not cover this queue, kind or store."""

    code, status, title, definite = "forbidden", 403, "Forbidden", True


class ScopeDenied(TesseraError):
    """The key lacks the effect class, the admin scope or the lease."""

    code, status, title, definite = "scope_denied", 403, "Scope denied", True


class NotFound(TesseraError):
    """There is no such thing."""

    code, status, title, definite = "not_found", 404, "Not found", True


class MethodNotAllowed(TesseraError):
    """This path does not answer that method: its header Allow names those that it does."""

    code, status, title, definite = "method_not_allowed", 405, "Method not allowed", True


class StaleLease(TesseraError):
    """The lease is not live: it lapsed, ended, never was, or the task was claimed since. Claim anew."""

    code, status, title, definite = "stale_lease", 409, "Stale lease", True


class VersionConflict(TesseraError):
    """Another write came first."""

    code, status, title, definite = "version_conflict", 409, "Version conflict", True


class IdempotencyConflict(TesseraError):
    """The idempotency key or the task id already belongs to something else."""

    code, status, title, definite = "idempotency_conflict", 409, "Idempotency conflict", True


class InvalidState(TesseraError):
    """The task is not in a state that allows this."""

    code, status, title, definite = "invalid_state", 409, "Invalid state", True


class RangeNotSatisfiable(TesseraError):
    """The range begins beyond the last byte, or asks for none; `size` says how many there are."""

    code, status, title, definite = "range_not_satisfiable", 416, "Range not satisfiable", True


class RateLimited(TesseraError):
    """Too many claims are waiting."""

    code, status, title, definite = "rate_limited", 429, "Rate limited", True


class Unavailable(TesseraError):
    """The store cannot answer now."""

    code, status, title = "unavailable", 503, "Unavailable"

    def __init__(
        self, detail: str | None = None, *, definite: bool = False, inside: str | None = None, **extra: object
    ) -> None:
        """`inside` is what only whoever runs the store may read, such as where its database is: it is part of
        the exception's text, for the library, the command line and the log, and never of a problem document.
        """
        super().__init__(detail, **extra)
        self.definite = definite
        self.inside = inside

    def __str__(self) -> str:
        return self.detail if self.inside is None else f"{self.detail}: {self.inside}"


def from_problem(problem: dict[str, Any]) -> TesseraError:
    """The refusal that a problem document tells of."""
    code = str(problem.get("code"))
    kind = _BY_STATUS.get((code, problem.get("status"))) or REGISTRY.get(code, TesseraError)
    error = kind(str(problem.get("detail", "")))
    error.definite = bool(problem.get("definite", error.definite))
    known = {"type", "title", "status", "detail", "code", "definite"}
    error.extra = {name: value for name, value in problem.items() if name not in known}
    return error


_FIRST: list[type[TesseraError]] = [TesseraError, *TesseraError.__subclasses__()]
REGISTRY: dict[str, type[TesseraError]] = {kind.code: kind for kind in _FIRST}
# With those that have the code of another and a status of their own, each behind it.
KINDS: tuple[type[TesseraError], ...] = tuple(
    one for kind in _FIRST for one in (kind, *(kind.__subclasses__() if kind is not TesseraError else ()))
)
_BY_STATUS: dict[tuple[str, object], type[TesseraError]] = {(kind.code, kind.status): kind for kind in KINDS}
