"""Workspaces: whether one exists for a caller, and how what is in it is shown."""

from __future__ import annotations

import msgspec

from tessera.errors import NotFound
from tessera.models import Agent, Role, Workspace
from tessera.rows import AgentRow, RoleRow, WorkspaceRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import rfc3339
from tessera.storage.port import Transaction


def known(tx: Transaction, caller: Caller, workspace_id: str) -> WorkspaceRow:
    """The workspace's row, or `not_found`: also for one that the caller knows nothing of."""
    workspace: WorkspaceRow | None = tx.one("workspace_named", workspace_id=workspace_id)
    if workspace is None or not grants.sees_workspace(caller, workspace_id):
        raise NotFound(f"no workspace {workspace_id}: define it first")
    return workspace


def names(text: str) -> list[str]:
    """The names in a row's JSON array."""
    return msgspec.json.decode(text, type=list[str])


def shown(workspace: WorkspaceRow) -> Workspace:
    """A workspace without its secret."""
    return Workspace(
        workspace_id=workspace.workspace_id, name=workspace.name, created_at=rfc3339(workspace.created_at)
    )


def role_shown(role: RoleRow) -> Role:
    """A role as the wire has it."""
    return Role(
        workspace_id=role.workspace_id,
        role_id=role.role_id,
        name=role.name,
        topic_id=role.topic_id,
        lease_seconds=role.lease_seconds,
        accounts=names(role.accounts),
    )


def agent_shown(agent: AgentRow) -> Agent:
    """An agent as the wire has it."""
    return Agent(
        workspace_id=agent.workspace_id,
        agent_id=agent.agent_id,
        role_ids=names(agent.role_ids),
        capabilities=names(agent.capabilities),
        active=bool(agent.active),
    )
