"""define_workspace, define_role, assign_queue, define_agent: what a workspace is made of, by admin keys. Each
may be done again, and then changes what it names.
"""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct

from tessera.acts.act import Act, Run
from tessera.canonical import json_text
from tessera.errors import IdempotencyConflict, InvalidRequest, InvalidState, NotFound
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.lite.message import Commitments
from tessera.models import (
    Agent,
    AssignQueue,
    DefineAgent,
    DefineRole,
    DefineWorkspace,
    Role,
    Workspace,
    WorkspaceQueue,
)
from tessera.rows import AgentRow, RoleRow, WorkspaceRow
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import tasks
from tessera.steps import workspaces as steps
from tessera.steps.keys import digest
from tessera.storage.port import Transaction
from tessera.verbs.guarded import Guarded

_ELSEWHERE: Final = (
    "claims go to the store's own log, which makes its topics by itself: leave it out, or, for a topic on a "
    "network, set TESSERA_LITE_LOG=hedera here and for the service"
)
_NOWHERE: Final = "claims go to a network, where a topic must be made (tessera lite topic): name it"


def define_workspace(tx: Transaction, runtime: Runtime, caller: Caller, ask: DefineWorkspace) -> Workspace:
    """Make a workspace, with a secret of its own, or give it another name."""
    grants.is_admin(caller)
    before: WorkspaceRow | None = tx.one("workspace_named", workspace_id=ask.workspace_id)
    secret, created_at = digest(runtime.token()), tx.now
    if before is not None:
        secret, created_at = before.secret, before.created_at
    runtime.reach("define_workspace.read")

    tx.write("define_workspace", workspace_id=ask.workspace_id, name=ask.name, secret=secret, now=created_at)
    tx.event("workspace_defined", key_id=caller.key_id, data=json_text({"workspace_id": ask.workspace_id}))
    runtime.reach("define_workspace.written")
    return steps.shown(WorkspaceRow(ask.workspace_id, ask.name, secret, created_at))


class RoleAt(Struct, frozen=True):
    """A role to define, and whether claims go to the store's own log."""

    ask: DefineRole
    at_home: bool


def define_role(ask: DefineRole, log: OrderedLog = LOCAL) -> Act[Role]:
    """Make a role, or change of it what is given. Its topic stays what it was: what was won there is proved
    there. A new role's topic lies in the log that claims go to.
    """
    role: Role = yield Run(_DEFINE_ROLE, RoleAt(ask, log.at_home))
    return role


def define_role_at(tx: Transaction, runtime: Runtime, caller: Caller, ask: RoleAt) -> Role:
    """The same, once it is known where claims go."""
    grants.is_admin(caller)
    role = _role(tx, caller, ask)
    runtime.reach("define_role.read")

    tx.save("define_role", role)
    named = {"workspace_id": role.workspace_id, "role_id": role.role_id}
    tx.event("role_defined", key_id=caller.key_id, data=json_text(named))
    runtime.reach("define_role.written")
    return steps.role_shown(role)


def _role(tx: Transaction, caller: Caller, at: RoleAt) -> RoleRow:
    """The role as it is to be."""
    ask = at.ask
    workspace = steps.known(tx, caller, ask.workspace_id)
    before: RoleRow | None = tx.one("role_named", workspace_id=ask.workspace_id, role_id=ask.role_id)
    own = Commitments(bytes.fromhex(workspace.secret)).topic(ask.role_id)
    topic_id = ask.topic_id or (own if before is None else before.topic_id)
    if before is not None and topic_id != before.topic_id:
        raise InvalidState("topic_id: a role keeps its topic; define another role")
    taken: RoleRow | None = tx.one("role_of_topic", topic_id=topic_id)
    if taken is not None and (taken.workspace_id, taken.role_id) != (ask.workspace_id, ask.role_id):
        raise IdempotencyConflict("topic_id: the claims of another role go there")
    if before is None and at.at_home != (topic_id == own):
        raise InvalidRequest(f"topic_id: {_ELSEWHERE if at.at_home else _NOWHERE}")
    accounts = [] if before is None else steps.names(before.accounts)
    lease_seconds = None if before is None else before.lease_seconds
    return RoleRow(
        workspace_id=ask.workspace_id,
        role_id=ask.role_id,
        name=ask.name,
        topic_id=topic_id,
        lease_seconds=lease_seconds if ask.lease_seconds is UNSET else ask.lease_seconds,
        accounts=json_text(sorted(set(accounts if ask.accounts is UNSET else ask.accounts))),
    )


def assign_queue(tx: Transaction, runtime: Runtime, caller: Caller, ask: AssignQueue) -> WorkspaceQueue:
    """Give a queue to a workspace, for good: from then on it exists for that workspace's keys and for admin
    keys only. It must be defined, and must have had no task yet, for nobody could claim that one.
    """
    grants.is_admin(caller)
    steps.known(tx, caller, ask.workspace_id)
    queue = tasks.queue_known(tx, caller, ask.queue_id)
    grants.covers_queue(caller, queue.name)
    given = WorkspaceQueue(workspace_id=ask.workspace_id, queue_id=queue.name)
    if queue.workspace_id not in (None, ask.workspace_id):
        raise InvalidState("the queue belongs to another workspace")
    if queue.workspace_id is None and tx.one("has_tasks", queue=queue.queue).value:
        raise InvalidState("the queue has had tasks: define a new one for the workspace")
    runtime.reach("assign_queue.read")
    if queue.workspace_id == ask.workspace_id:
        return given

    tx.write("assign_queue", queue=queue.queue, workspace_id=ask.workspace_id)
    data = json_text({"workspace_id": ask.workspace_id})
    tx.event("queue_assigned", queue.queue, key_id=caller.key_id, data=data)
    runtime.reach("assign_queue.written")
    return given


def define_agent(tx: Transaction, runtime: Runtime, caller: Caller, ask: DefineAgent) -> Agent:
    """Make an agent, or change of its roles, what it is able to do, and whether it may claim, what is given.
    What it holds, it keeps.
    """
    grants.is_admin(caller)
    steps.known(tx, caller, ask.workspace_id)
    known = {role.role_id for role in tx.all("roles_of", workspace_id=ask.workspace_id)}
    for place, role_id in enumerate([] if ask.role_ids is UNSET else ask.role_ids, 1):
        if role_id not in known:
            raise NotFound(f"role_ids: no such role, the {place}. of those named: define it first")
    row: AgentRow | None = tx.one("agent_named", workspace_id=ask.workspace_id, agent_id=ask.agent_id)
    before = Agent(ask.workspace_id, ask.agent_id, [], [], active=True)
    if row is not None:
        before = steps.agent_shown(row)
    role_ids = before.role_ids if ask.role_ids is UNSET else ask.role_ids
    capabilities = before.capabilities if ask.capabilities is UNSET else ask.capabilities
    agent = AgentRow(
        workspace_id=ask.workspace_id,
        agent_id=ask.agent_id,
        role_ids=json_text(sorted(set(role_ids))),
        capabilities=json_text(sorted(set(capabilities))),
        active=int(before.active if ask.active is UNSET else ask.active),
    )
    runtime.reach("define_agent.read")

    tx.save("define_agent", agent)
    named = {"workspace_id": ask.workspace_id, "agent_id": ask.agent_id}
    tx.event("agent_defined", key_id=caller.key_id, data=json_text(named))
    runtime.reach("define_agent.written")
    return steps.agent_shown(agent)


_DEFINE_ROLE: Final = Guarded(define_role_at, None)
