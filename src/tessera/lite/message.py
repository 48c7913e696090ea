"""The message that a lite claim leaves in the log, and nothing else: an allow-list of twelve fields.

No field can hold a word of anybody's: five ids travel as keyed commitments and the idempotency key as a keyed
hash, under the workspace's secret, so a reader of the log can neither guess a short id nor tell that two
workspaces use the same one. The rest are numbers, a time and an id drawn by chance. (Contract §8.4.)
"""

from __future__ import annotations

import hmac
import re
from functools import lru_cache
from typing import Final, Literal

import msgspec
from msgspec import Struct

from tessera.errors import InvalidRequest
from tessera.limits import INTEGER_MAX, TOPIC_MESSAGE_BYTES_MAX

TYPE: Final = "lite_claim_v1"
VERSION: Final = 1
SECRET_BYTES_MIN: Final = 16

Kind = Literal["workspace", "queue", "role", "agent", "task", "idempotency", "topic"]

_COMMITMENT = "[0-9a-f]{64}"
_NUMBER = "[1-9][0-9]{0,15}"  # and no more than INTEGER_MAX
_FORMS: Final = {  # every field: what it may hold, in the order of the message's bytes
    "type": f'"{TYPE}"',
    "version": f"{VERSION}",
    "claim_id": '"(clm_[0-9a-f]{8,40})"',
    "workspace": f'"({_COMMITMENT})"',
    "queue": f'"({_COMMITMENT})"',
    "role": f'"({_COMMITMENT})"',
    "task": f'"({_COMMITMENT})"',
    "agent": f'"({_COMMITMENT})"',
    "fencing_token": f"({_NUMBER})",
    "lease_seconds": f"({_NUMBER})",
    "idempotency_sha256": f'"({_COMMITMENT})"',
    "created_at": '"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z)"',
}
_MESSAGE = re.compile(r"\{" + ",".join(f'"{name}":{form}' for name, form in _FORMS.items()) + r"\}")


class LiteClaim(Struct, frozen=True, gc=False):
    """A claim as the log has it: the fields of its message but the type and the version, in their order."""

    claim_id: str
    workspace: str
    queue: str
    role: str
    task: str
    agent: str
    fencing_token: int  # the token that the claim's lease will have
    lease_seconds: int
    idempotency_sha256: str
    created_at: str  # by its producer's clock


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


def claim_message(
    names: Commitments, *, claim_id: str, workspace_id: str, queue_id: str, role_id: str, task_id: str,
    agent_id: str, fencing_token: int, lease_seconds: int, idempotency_key: str, created_at: str,
) -> bytes:  # fmt: skip
    """The message of a claim. Raises `invalid_request` for what it cannot express."""
    return encode(
        LiteClaim(
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
    fields = {"type": TYPE, "version": VERSION, **msgspec.structs.asdict(claim)}
    message = msgspec.json.encode(fields)
    if decode(message) is None:
        raise InvalidRequest("a claim's message holds commitments, numbers, a time and a claim id alone")
    return message


def decode(message: bytes) -> LiteClaim | None:
    """The claim that a message's bytes are, or None: unknown, missing, repeated or reordered fields, other
    forms of a value, blanks and more bytes than one chunk has all make it no claim.
    """
    found = _MESSAGE.fullmatch(message.decode("ascii", "replace"))
    if found is None or len(message) > TOPIC_MESSAGE_BYTES_MAX:
        return None
    claim_id, workspace, queue, role, task, agent, token, seconds, key, made = found.groups()
    fencing_token, lease_seconds = int(token), int(seconds)
    if fencing_token > INTEGER_MAX or lease_seconds > INTEGER_MAX:
        return None
    return LiteClaim(claim_id, workspace, queue, role, task, agent, fencing_token, lease_seconds, key, made)
