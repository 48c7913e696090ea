"""Every refusal of the wake service, one class per code of the wire. The docstring is the default text.

`retryable` says whether the same request may succeed later; `definite` (of every refusal in the house)
whether it certainly changed nothing.
"""

from __future__ import annotations

from typing import Any, ClassVar

from tessera.errors import TesseraError


class WakeError(TesseraError):
    """Something unforeseen happened in the wake service."""

    retryable: ClassVar[bool] = False
    definite = True

    def wire(self) -> dict[str, object]:
        """The refusal as the protocol shows it."""
        return {"code": self.code, "message": self.detail, "retryable": self.retryable, **self.extra}


class Internal(WakeError):
    """Something unforeseen happened in the wake service; its log says what."""

    code, definite = "internal", False


class ProtocolMismatch(WakeError):
    """The other side speaks another major version of the protocol."""

    code, status = "protocol_mismatch", 400


class MissingCapability(WakeError):
    """The other side lacks a capability that is required."""

    code, status = "missing_capability", 400


class UnknownOp(WakeError):
    """There is no such operation."""

    code, status = "unknown_op", 400


class InvalidJson(WakeError):
    """The line is not one JSON object."""

    code, status = "invalid_json", 400


class InvalidUtf8(WakeError):
    """The line is not UTF-8 text."""

    code, status = "invalid_utf8", 400


class LineTooLong(WakeError):
    """The line is longer than the protocol allows."""

    code, status = "line_too_long", 413


class InvalidRequest(WakeError):
    """A field is missing or wrong."""

    code, status = "invalid_request", 400


class BodyTooLarge(WakeError):
    """The body is over 8 KiB of UTF-8."""

    code, status = "body_too_large", 413


class MetadataTooLarge(WakeError):
    """The metadata is over 4 KiB of JSON."""

    code, status = "metadata_too_large", 413


class Forbidden(WakeError):
    """The peer is another user, or holds another resume token."""

    code, status = "forbidden", 403


class Busy(WakeError):
    """There are too many connections; try again."""

    code, status, retryable = "busy", 503, True


class TimedOut(WakeError):
    """No whole line came in time."""

    code, status, retryable = "timeout", 408, True


class ShuttingDown(WakeError):
    """The service is stopping; try again."""

    code, status, retryable = "shutting_down", 503, True


class UnknownRepo(WakeError):
    """The repository is not in gita's registry."""

    code, status = "unknown_repo", 404


class AmbiguousRepo(WakeError):
    """Gita's registry has the name more than once."""

    code, status = "ambiguous_repo", 409


class Unavailable(WakeError):
    """No live endpoint takes wakes for this repository; no message was made."""

    code, status, retryable = "unavailable", 503, True


class AmbiguousEndpoint(WakeError):
    """Several live endpoints take wakes for this repository: name one."""

    code, status = "ambiguous_endpoint", 409


class IdempotencyConflict(WakeError):
    """The idempotency key already belongs to another message."""

    code, status = "idempotency_conflict", 409


class NotFound(WakeError):
    """There is no such message or endpoint."""

    code, status = "not_found", 404


class InvalidState(WakeError):
    """The message is not in a state that allows this."""

    code, status = "invalid_state", 409


class EndpointLive(WakeError):
    """The name belongs to a live endpoint: replace it on purpose, or take another name."""

    code, status = "endpoint_live", 409


class EndpointGone(WakeError):
    """The endpoint has ended: register again."""

    code, status = "endpoint_gone", 410


class Storage(WakeError):
    """The message store cannot be written now."""

    code, status, retryable = "storage", 503, True


class NoService(WakeError):
    """No wake service answers: start it with `tessera wake serve`."""

    code, status, retryable = "no_service", 503, True
    definite = False


_KINDS: list[type[WakeError]] = WakeError.__subclasses__()
REGISTRY: dict[str, type[WakeError]] = {kind.code: kind for kind in _KINDS}


def from_wire(error: dict[str, Any]) -> WakeError:
    """The refusal that an answer of the service tells of."""
    rest = {name: value for name, value in error.items() if name not in {"code", "message", "retryable"}}
    return REGISTRY.get(str(error.get("code")), Internal)(str(error.get("message", "")), **rest)
