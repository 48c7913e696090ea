"""reserve_claim: the first of a claim's three steps. It decides whom policy refuses, which task to contend
for, and stores the claim before its message is sent. Nothing of the task leaves the store here.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import Struct

from tessera.canonical import json_text
from tessera.errors import NotFound, Unavailable
from tessera.limits import (
    CANDIDATES_PER_CLAIM_MAX,
    CLAIM_STEPS_SECONDS,
    LEASE_SECONDS_MAX,
    MISSED_RETRY_SECONDS,
    SECOND_US,
)
from tessera.lite import requests
from tessera.lite.message import Commitments, claim_message
from tessera.lite.requests import Asked, Pending, Place
from tessera.models import ClaimAnswer, ClaimNext, ClaimTask, Missed, NoTasks, Rejected
from tessera.names import EFFECT_RANK, LITE, RUNTIME
from tessera.rows import AgentRow, ClaimRow, QueueRow, RequirementRow, RoleRow, TaskRow, WorkspaceRow
from tessera.rules import grants
from tessera.rules.claims import RESERVED, eligible_roles, meets
from tessera.rules.grants import Caller
from tessera.runtime import Runtime, rfc3339
from tessera.states import READY
from tessera.steps import briefs, lapses, tasks
from tessera.steps.waits import seconds_until_due
from tessera.steps.workspaces import names
from tessera.storage.port import Overdue, Transaction

READ = EFFECT_RANK["read"]
_OTHER_LOG: Final = (
    "the role's topic is not of the log that claims go to here: set TESSERA_LITE_LOG, or define another role"
)


class Reserve(Struct, frozen=True):
    """What is asked; the tasks, by serial, that this call has contended for; its claim before this one;
    whether claims go to the store's own log.
    """

    ask: Asked
    tried: tuple[int, ...] = ()
    last: str | None = None
    at_home: bool = True


class Reserved(Struct, frozen=True):
    """A claim to send to the log: its row, the task's commitment there, and the accounts whose messages
    count; none: that of whoever appends.
    """

    claim: ClaimRow
    task: str
    accounts: list[str]


def reserve_claim(
    tx: Transaction, runtime: Runtime, caller: Caller, ask: Reserve
) -> Reserved | Pending | ClaimAnswer:
    """Reserve the task that goes first among those the agent may have, or answer without one. A reservation
    hides nothing from others: the log will say who wins.
    """
    place = _place(tx, caller, ask.ask)
    if isinstance(place, Rejected):
        return place
    before = requests.before(tx, caller, place, ask.ask, ask.last)
    if before is not None:
        return before
    decided = _decided(tx, runtime, caller, place, ask)
    runtime.reach("reserve_claim.read")

    if isinstance(decided, Reserved):
        until = tx.now + CLAIM_STEPS_SECONDS * SECOND_US
        requests.note(tx, place, ask.ask, until, claim_id=decided.claim.claim_id)
        tx.save("reserve_claim", decided.claim)
    else:
        requests.keep(tx, place, ask.ask, decided)
    runtime.reach("reserve_claim.written")
    return decided


def _place(tx: Transaction, caller: Caller, ask: Asked) -> Place | Rejected:
    """The workspace's queue, and the task if one is named. What the caller knows nothing of is answered like
    what does not exist.
    """
    if RUNTIME not in caller.scopes:
        return Rejected("unauthorized_scope", retryable=False)
    task: TaskRow | None = None
    queue: QueueRow | None
    if isinstance(ask, ClaimTask):
        task = tasks.known(tx, caller, ask.task_id)
        queue = tasks.queue_of(tx, task)
        if queue.workspace_id is None:
            raise NotFound("no such task")
    else:
        queue = tx.one("queue_named", name=ask.queue_id)
        if queue is None or not grants.sees_workspace(caller, queue.workspace_id):
            return Rejected("queue_not_found", retryable=False)
    if queue.workspace_id is None:
        return Rejected("queue_not_found", retryable=False)
    kinds, effects = caller.kinds, caller.effects
    covered = (kinds is None or LITE in kinds) and (effects is None or READ in effects)
    if not covered or not grants.sees_queue(caller, queue.name):
        return Rejected("unauthorized_scope", retryable=False)
    return Place(queue, queue.workspace_id, task)


def _decided(
    tx: Transaction, runtime: Runtime, caller: Caller, place: Place, ask: Reserve
) -> Reserved | NoTasks | Missed | Rejected:
    """The claim to reserve, or the answer without one."""
    agent: AgentRow | None = tx.one("agent_named", workspace_id=place.workspace_id, agent_id=ask.ask.agent_id)
    if agent is None:
        return Rejected("agent_not_in_workspace", retryable=False)
    if not agent.active:
        return Rejected("inactive_agent", retryable=False)
    seconds = ask.ask.lease_seconds
    if seconds is not None and not 1 <= seconds <= LEASE_SECONDS_MAX:
        return Rejected("invalid_lease", retryable=False)
    roles = eligible_roles(names(agent.role_ids), ask.ask.role_ids)
    if not roles:
        return Rejected("role_not_assigned", retryable=False)
    lapses.settled(tx, place.queue)
    if len(ask.tried) >= _contests(ask.ask):
        return _nothing(tx, place, ask)
    task = _candidate(tx, place, agent, roles, ask)
    if not isinstance(task, TaskRow):
        return task
    if briefs.intact(tx, task) is None:
        raise Overdue(partial(lapses.settle_unreadable, task.serial))
    return _reserved(tx, runtime, caller, place, task, ask)


def _contests(ask: Asked) -> int:
    return CANDIDATES_PER_CLAIM_MAX if isinstance(ask, ClaimNext) else 1


def _candidate(
    tx: Transaction, place: Place, agent: AgentRow, roles: frozenset[str], ask: Reserve
) -> TaskRow | NoTasks | Missed | Rejected:
    """The task to contend for; or why there is none."""
    capabilities = frozenset(names(agent.capabilities))
    if place.task is not None:
        asked: RequirementRow = tx.one("requirement_numbered", requirement=place.task.requirement)
        if (lacking := meets(asked.role_id, names(asked.capabilities), roles, capabilities)) is not None:
            return Rejected(lacking, retryable=False)
        free = place.task.state == READY and place.task.due is None and not place.queue.paused
        return place.task if free else _nothing(tx, place, ask)
    wanted: list[RequirementRow] = tx.all("requirements_of_queue", queue=place.queue.queue)
    lacking_all = [(one, meets(one.role_id, names(one.capabilities), roles, capabilities)) for one in wanted]
    if wanted and all(lacking == "role_not_assigned" for _, lacking in lacking_all):
        return Rejected("role_not_assigned", retryable=False)
    if place.queue.paused:
        return _nothing(tx, place, ask)
    numbers = [one.requirement for one, lacking in lacking_all if lacking is None]
    found = _head(tx, numbers, ask.tried)
    if found is not None:
        return found
    beyond = [one.requirement for one, lacking in lacking_all if lacking == "missing_capability"]
    if not ask.tried and _head(tx, beyond, ()) is not None:
        return Rejected("missing_capability", retryable=False)
    return _nothing(tx, place, ask)


def _head(tx: Transaction, requirements: list[int], tried: tuple[int, ...]) -> TaskRow | None:
    """The task that goes first; one that others contend for only if there is no other."""
    if not requirements:
        return None
    statement, of = "heads_to_win", dict[str, object](requirements=json_text(requirements))
    if len(requirements) == 1:
        statement, of = "head_to_win", dict(requirement=requirements[0])
    for contested in (0, 1):
        found: TaskRow | None = tx.one(statement, contested=contested, tried=json_text(list(tried)), **of)
        if found is not None:
            return found
    return None


def _nothing(tx: Transaction, place: Place, ask: Reserve) -> NoTasks | Missed:
    seconds = MISSED_RETRY_SECONDS if ask.tried else seconds_until_due(tx, place.queue)
    if place.task is not None:
        return Missed(agent_id=ask.ask.agent_id, task_id=place.task.task_id, retry_after_seconds=seconds)
    return NoTasks(agent_id=ask.ask.agent_id, queue_id=place.queue.name, retry_after_seconds=seconds)


def _reserved(
    tx: Transaction, runtime: Runtime, caller: Caller, place: Place, task: TaskRow, reserve: Reserve
) -> Reserved:
    """The claim and its message. The contest is the task with the token that its next lease will have."""
    ask = reserve.ask
    asked: RequirementRow = tx.one("requirement_numbered", requirement=task.requirement)
    role: RoleRow = tx.one("role_named", workspace_id=place.workspace_id, role_id=asked.role_id)
    workspace: WorkspaceRow = tx.one("workspace_named", workspace_id=place.workspace_id)
    commitments = Commitments(bytes.fromhex(workspace.secret))
    if reserve.at_home != (role.topic_id == commitments.topic(role.role_id)):
        raise Unavailable(_OTHER_LOG, definite=True)
    token = task.fencing_token + 1
    lease_seconds = ask.lease_seconds or role.lease_seconds or place.queue.lease_seconds
    claim_id, key_sha256 = runtime.new_id("clm_"), requests.key_hash(ask)
    message = claim_message(
        commitments, claim_id=claim_id, workspace_id=place.workspace_id, queue_id=place.queue.name,
        role_id=role.role_id, task_id=task.task_id, agent_id=ask.agent_id, fencing_token=token,
        lease_seconds=lease_seconds, idempotency_key=key_sha256, created_at=rfc3339(tx.now),
    )  # fmt: skip
    after = tx.one("contest_starts_after", serial=task.serial, fencing_token=token, topic_id=role.topic_id)
    claim = ClaimRow(
        claim_id=claim_id, workspace_id=place.workspace_id, serial=task.serial, fencing_token=token,
        role_id=role.role_id, agent_id=ask.agent_id, key_id=caller.key_id, target=place.target,
        lease_seconds=lease_seconds, idempotency_sha256=key_sha256, state=RESERVED, reserved_at=tx.now,
        settled_at=None, event_id=None, message=message.decode(), topic_id=role.topic_id,
        after_sequence=after.value, sequence_number=None, consensus_timestamp=None, running_hash=None,
        transaction_id=None, proof_status=None,
    )  # fmt: skip
    return Reserved(claim, commitments.of("task", task.task_id), names(role.accounts))
