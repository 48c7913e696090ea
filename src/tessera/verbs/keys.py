"""Keys: issue, list, revoke, look one up; and approvals for `public`."""

from __future__ import annotations

import msgspec

from tessera.canonical import json_text
from tessera.errors import InvalidRequest, NotFound, ScopeDenied, Unauthorized
from tessera.limits import APPROVAL_SECONDS, DAY_SECONDS, SECOND_US
from tessera.models import (
    Approval,
    ApprovalBody,
    IssuedKey,
    IssueKeyBody,
    KeyGrant,
    KeyRef,
    Keys,
    ListNames,
)  # fmt: skip
from tessera.names import ALL, EFFECT_CLASSES, RUNTIME, SCOPES
from tessera.rows import ApprovalRow, KeyRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.runtime import Runtime, rfc3339
from tessera.steps import keys as steps
from tessera.storage.port import Transaction


def issue_key(tx: Transaction, runtime: Runtime, caller: Caller, ask: IssueKeyBody) -> IssuedKey:
    """Make a key and show its secret, this once; only its hash is kept. `public` needs the owner's approval
    of exactly this grant, which is used up.
    """
    grants.is_admin(caller)
    grant = _normal(ask)
    _refuse_workspace(tx, grant)
    approval = _approved(tx, ask.approval, grant) if "public" in grant.effect_classes else None
    key = KeyRow(
        key_id=runtime.new_id("k_"),
        name=ask.name,
        grant_json=_text(grant),
        created_at=tx.now,
        expires_at=tx.now + grant.days * DAY_SECONDS * SECOND_US,
        revoked_at=None,
    )
    secret = f"tessera_{runtime.token()}"
    runtime.reach("issue_key.read")

    if approval is not None:
        tx.write("consume_approval", approval_sha256=approval, key_id=key.key_id)
    tx.write(
        "add_key", key_id=key.key_id, key_sha256=steps.digest(secret), name=key.name,
        grant_json=key.grant_json, now=tx.now, expires_at=key.expires_at,
    )  # fmt: skip
    tx.event("key_issued", key_id=caller.key_id, data=json_text({"key_id": key.key_id}))
    runtime.reach("issue_key.written")
    return IssuedKey(key=secret, grant=steps.shown(key))


def issue_approval(tx: Transaction, runtime: Runtime, caller: Caller, ask: ApprovalBody) -> Approval:
    """The owner's word, good for an hour and for one key of exactly this grant. Only on the store's
    machine.
    """
    grants.is_owner(caller)
    token = f"approval_{runtime.token()}"
    expires_at = tx.now + APPROVAL_SECONDS * SECOND_US
    runtime.reach("issue_approval.read")

    tx.write(
        "add_approval", approval_sha256=steps.digest(token), grant_json=_text(_normal(ask)), now=tx.now,
        expires_at=expires_at,
    )  # fmt: skip
    tx.event("approval_issued")
    runtime.reach("issue_approval.written")
    return Approval(approval=token, expires_at=rfc3339(expires_at))


def revoke_key(tx: Transaction, runtime: Runtime, caller: Caller, ask: KeyRef) -> KeyGrant:
    """Let a key count no more, from this instant on. Revoking twice changes nothing."""
    grants.is_admin(caller)
    key: KeyRow | None = tx.one("key_named", key_id=ask.key_id)
    if key is None:
        raise NotFound("no such key")
    runtime.reach("revoke_key.read")
    if key.revoked_at is not None:
        return steps.shown(key)

    tx.write("revoke_key", key_id=key.key_id, now=tx.now)
    tx.event("key_revoked", key_id=caller.key_id, data=json_text({"key_id": key.key_id}))
    runtime.reach("revoke_key.written")
    return steps.shown(msgspec.structs.replace(key, revoked_at=tx.now))


def keys(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListNames) -> Keys:
    """A page of the keys without their secrets, oldest first."""
    grants.is_admin(caller)
    rows: list[KeyRow] = tx.all("keys_page", after=ask.after or "", limit=ask.limit + 1)
    page, after = page_of(rows, ask.limit, "key_id")
    return Keys(keys=[steps.shown(row) for row in page], next=after)


def caller_for(tx: Transaction, runtime: Runtime, key_sha256: str) -> Caller:
    """Who a secret stands for, by its hash, or `unauthorized`."""
    key: KeyRow | None = tx.one("key_hashed", key_sha256=key_sha256)
    if key is None:
        raise Unauthorized
    grants.stands(key.expires_at, key.revoked_at, tx.now)
    return grants.caller_of(key.key_id, steps.grant_of(key))


def _approved(tx: Transaction, token: str | None, grant: ApprovalBody) -> str:
    """The hash of an approval that is good for this grant, or a refusal that does not say what is wrong with
    a token.
    """
    if token is None:
        raise ScopeDenied(
            "effect class public needs an approval: `tessera approvals issue` on the store's machine"
        )
    sha256 = steps.digest(token)
    found: ApprovalRow | None = tx.one("approval_hashed", approval_sha256=sha256)
    fresh = found is not None and found.key_id is None and tx.now < found.expires_at
    if found is None or not fresh or found.grant_json != _text(grant):
        raise ScopeDenied("the approval is unknown, used, expired, or for another grant")
    return sha256


def _normal(ask: ApprovalBody) -> ApprovalBody:
    """A grant in one form, so that equal ones have equal text: each name once, in order; `*` stands alone."""
    return ApprovalBody(
        queues=[ALL] if ALL in ask.queues else sorted(set(ask.queues)),
        kinds=[ALL] if ALL in ask.kinds else sorted(set(ask.kinds)),
        effect_classes=[name for name in EFFECT_CLASSES if name in ask.effect_classes],
        scopes=[name for name in SCOPES if name in ask.scopes],
        days=ask.days,
        workspace_id=ask.workspace_id,
    )


def _refuse_workspace(tx: Transaction, grant: ApprovalBody) -> None:
    """An agent's key is its workspace's and nothing else's; no other key is a workspace's."""
    if (RUNTIME in grant.scopes) != (grant.workspace_id is not None):
        raise InvalidRequest(f"workspace_id: the scope {RUNTIME} and a workspace go together")
    if grant.workspace_id is None:
        return
    if grant.scopes != [RUNTIME]:
        raise InvalidRequest(f"scopes: {RUNTIME} stands alone")
    if tx.one("workspace_named", workspace_id=grant.workspace_id) is None:
        raise NotFound(f"no workspace {grant.workspace_id}: define it first")


def _text(grant: ApprovalBody) -> str:
    """A grant as it is kept, and compared: its fields in the order of the model."""
    return msgspec.json.encode(grant).decode()
