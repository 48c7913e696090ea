"""Keys: who a bearer secret stands for, whether the key still counts, how it is shown."""

from __future__ import annotations

import hashlib

import msgspec

from tessera.errors import Unauthorized
from tessera.models import ApprovalBody, KeyGrant
from tessera.rows import KeyRow, StandingRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import rfc3339, rfc3339_or_none
from tessera.storage.port import Transaction


def digest(secret: str) -> str:
    """How a secret is kept: its SHA-256, in hex. What is no text is nobody's secret, but has a hash too."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def standing(tx: Transaction, caller: Caller) -> None:
    """Refuse a key that has expired or was revoked, inside the transaction that would act for it."""
    if caller.key_id is None:
        return
    key: StandingRow | None = tx.one("key_standing", key_id=caller.key_id)
    if key is None:
        raise Unauthorized
    grants.stands(key.expires_at, key.revoked_at, tx.now)


def grant_of(key: KeyRow) -> ApprovalBody:
    """What the key was issued for."""
    return msgspec.json.decode(key.grant_json, type=ApprovalBody)


def shown(key: KeyRow) -> KeyGrant:
    """A key without its secret."""
    grant = grant_of(key)
    return KeyGrant(
        key_id=key.key_id,
        name=key.name,
        queues=grant.queues,
        kinds=grant.kinds,
        effect_classes=list(grant.effect_classes),
        scopes=list(grant.scopes),
        workspace_id=grant.workspace_id,
        created_at=rfc3339(key.created_at),
        expires_at=rfc3339(key.expires_at),
        revoked_at=rfc3339_or_none(key.revoked_at),
    )
