"""The message that a lite claim leaves in the log, and nothing else: an allow-list of twelve fields.

No field can hold a word of anybody's: five ids travel as keyed commitments and the idempotency key as a keyed
hash, under the workspace's secret, so a reader of the log can neither guess a short id nor tell that two
workspaces use the same one. The rest are numbers, a time and an id drawn by chance. (Contract §8.4.)
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, Struct

from tessera.errors import InvalidRequest
from tessera.limits import INTEGER_MAX, TOPIC_MESSAGE_BYTES_MAX

TYPE: Final = "lite_claim_v1"
VERSION: Final = 1
SECRET_BYTES_MIN: Final = 16

Commitment = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
ClaimId = Annotated[str, Meta(pattern=r"^clm_[0-9a-f]{8,40}$(?!\n)")]
Instant = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$(?!\n)")
]
Count = Annotated[int, Meta(ge=1, le=INTEGER_MAX)]
Kind = Literal["workspace", "queue", "role", "agent", "task", "idempotency", "topic"]


class LiteClaim(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A claim as the log has it; the fields in the order of the message's bytes."""

    type: Literal["lite_claim_v1"]
    version: Literal[1]
    claim_id: ClaimId
    workspace: Commitment
    queue: Commitment
    role: Commitment
    task: Commitment
    agent: Commitment
    fencing_token: Count  # the token that the claim's lease will have
    lease_seconds: Count
    idempotency_sha256: Commitment
    created_at: Instant  # by its producer's clock


class Commitments:
    """What a workspace's ids are called in the log: HMAC-SHA-256 under the workspace's secret, in hex.

    The kind of an id is part of what is hashed, so an agent and a task of one name look unrelated too.
    """

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES_MIN:
            raise ValueError(f"a workspace's secret has at least {SECRET_BYTES_MIN} bytes")
        self._secret = secret

    def of(self, kind: Kind, name: str) -> str:
        """The commitment to an id (or idempotency key) of a kind."""
        return _commitment(self._secret, kind, name)

    def topic(self, role_id: str) -> str:
        """The id of a role's topic in the store's own log: an entity's number of 48 bits that says nothing of
        the role.
        """
        return f"0.0.{int(self.of('topic', role_id)[:12], 16)}"


@lru_cache(maxsize=16_384)
def _commitment(secret: bytes, kind: str, name: str) -> str:
    return hmac.digest(secret, f"{TYPE}\0{kind}\0{name}".encode(), "sha256").hex()


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(LiteClaim)


def claim_message(
    names: Commitments, *, claim_id: str, workspace_id: str, queue_id: str, role_id: str, task_id: str,
    agent_id: str, fencing_token: int, lease_seconds: int, idempotency_key: str, created_at: str,
) -> bytes:  # fmt: skip
    """The message of a claim. Raises `invalid_request` for what it cannot express."""
    return encode(
        LiteClaim(
            type=TYPE,
            version=VERSION,
            claim_id=claim_id,
            workspace=names.of("workspace", workspace_id),
            queue=names.of("queue", queue_id),
            role=names.of("role", role_id),
            task=names.of("task", task_id),
            agent=names.of("agent", agent_id),
            fencing_token=fencing_token,
            lease_seconds=lease_seconds,
            idempotency_sha256=names.of("idempotency", idempotency_key),
            created_at=created_at,
        )
    )


def encode(claim: LiteClaim) -> bytes:
    """The claim's bytes, of which there is one form. Raises `invalid_request` for a value outside the
    allow-list, without repeating it.
    """
    message = _ENCODER.encode(claim)
    if decode(message) is None:
        raise InvalidRequest("a claim's message holds commitments, numbers, a time and a claim id alone")
    return message


def decode(message: bytes) -> LiteClaim | None:
    """The claim that a message's bytes are, or None: unknown, missing, repeated or reordered fields, other
    forms of a value, blanks, and more bytes than one chunk has all make it no claim.
    """
    if len(message) > TOPIC_MESSAGE_BYTES_MAX:
        return None
    try:
        claim = _DECODER.decode(message)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return claim if _ENCODER.encode(claim) == message else None
