"""Looks at workspaces and their claims, for admin keys and for the keys of the workspace."""

from __future__ import annotations

from tessera.lite.details import proof_of
from tessera.models import (
    Claims,
    ClaimView,
    ListClaims,
    ListNames,
    WorkspaceRef,
    Workspaces,
    WorkspaceView,
)
from tessera.rows import ClaimShown
from tessera.rules import grants
from tessera.rules.claims import CLAIM_STATES
from tessera.rules.grants import Caller
from tessera.rules.paging import page_of
from tessera.runtime import Runtime, rfc3339, rfc3339_or_none
from tessera.steps import workspaces as steps
from tessera.storage.port import Transaction


def workspaces(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListNames) -> Workspaces:
    """A page of the workspaces that exist for the caller, by id."""
    sight = grants.workspace_in_sight(caller)
    rows = tx.all("workspaces_page", after=ask.after or "", only=sight, limit=ask.limit + 1)
    page, after = page_of(rows, ask.limit, "workspace_id")
    return Workspaces(workspaces=[steps.shown(row) for row in page], next=after)


def workspace(tx: Transaction, runtime: Runtime, caller: Caller, ask: WorkspaceRef) -> WorkspaceView:
    """One workspace with its roles, queues and agents."""
    row = steps.known(tx, caller, ask.workspace_id)
    return WorkspaceView(
        workspace_id=row.workspace_id,
        name=row.name,
        created_at=rfc3339(row.created_at),
        roles=[steps.role_shown(one) for one in tx.all("roles_of", workspace_id=row.workspace_id)],
        queues=[one.value for one in tx.all("queues_of_workspace", workspace_id=row.workspace_id)],
        agents=[steps.agent_shown(one) for one in tx.all("agents_of", workspace_id=row.workspace_id)],
    )


def claims(tx: Transaction, runtime: Runtime, caller: Caller, ask: ListClaims) -> Claims:
    """A page of claims, oldest first, of the workspaces that exist for the caller."""
    workspace_id = ask.workspace_id if caller.admin else caller.workspace_id
    if ask.workspace_id is not None:
        steps.known(tx, caller, ask.workspace_id)
    elif workspace_id is None and not caller.admin:
        return Claims(claims=[], next=None)
    rows: list[ClaimShown] = tx.all(
        "claims_page",
        workspace_id=workspace_id,
        topic_id=ask.topic_id,
        state=None if ask.state is None else CLAIM_STATES.index(ask.state),
        after=ask.after or "",
        limit=ask.limit + 1,
    )
    page, after = page_of(rows, ask.limit, "claim_id")
    return Claims(claims=[_shown(row) for row in page], next=after)


def _shown(row: ClaimShown) -> ClaimView:
    return ClaimView(
        claim_id=row.claim_id,
        workspace_id=row.workspace_id,
        task_id=row.task_id,
        queue_id=row.queue_id,
        role_id=row.role_id,
        agent_id=row.agent_id,
        fencing_token=row.fencing_token,
        lease_seconds=row.lease_seconds,
        idempotency_sha256=row.idempotency_sha256,
        state=CLAIM_STATES[row.state],
        reserved_at=rfc3339(row.reserved_at),
        settled_at=rfc3339_or_none(row.settled_at),
        topic_id=row.topic_id,
        proof=proof_of(row),
    )
