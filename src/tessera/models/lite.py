"""Lite claims: workspaces and what is in them, claim-next and its answers. (Contract §8.)"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from tessera import limits, names
from tessera.models.base import (
    NULL,
    AfterId,
    Answer,
    Dependencies,
    Document,
    IdempotencyKey,
    KnownId,
    Limit,
    Model,
    Name,
    Priority,
    TaskId,
    WorkspaceId,
)
from tessera.models.leases import Input, Outcome
from tessera.models.topics import AccountId, Proof, TopicId

AgentId = Annotated[str, Meta(pattern=names.AGENT_PATTERN)]
RoleId = Annotated[str, Meta(pattern=names.ROLE_PATTERN)]
Label = Annotated[str, Meta(min_length=1, max_length=limits.LABEL_CHARS_MAX)]
Roles = Annotated[list[RoleId], Meta(max_length=limits.ROLES_PER_AGENT_MAX)]
Capabilities = Annotated[list[Name], Meta(max_length=limits.CAPABILITIES_MAX)]
LeaseSeconds = Annotated[int, Meta(ge=1, le=limits.LEASE_SECONDS_MAX)]
Number = Annotated[int, Meta(ge=-limits.INTEGER_MAX, le=limits.INTEGER_MAX)]
Reason = Literal[
    "inactive_agent", "unauthorized_scope", "queue_not_found", "agent_not_in_workspace", "role_not_assigned",
    "missing_capability", "invalid_lease", "rate_limited", "idempotency_conflict",
]  # fmt: skip
ClaimState = Literal["reserved", "claimed", "missed", "void"]


class DefineWorkspace(Model, frozen=True):
    """A workspace to make, or to give another name."""

    workspace_id: WorkspaceId
    name: Label


class Workspace(Answer, frozen=True):
    """A workspace."""

    workspace_id: str
    name: str
    created_at: str


class Workspaces(Answer, frozen=True):
    """A page of the workspaces that exist for the caller, by id; `next` is the cursor of the page that
    follows, null at the end.
    """

    workspaces: list[Workspace]
    next: str | None


class WorkspaceRef(Model, frozen=True):
    """Names a workspace."""

    workspace_id: KnownId


class DefineRole(Model, frozen=True):
    """A role to make or to change. Its claims go to `topic_id`: a topic on the network that claims go to, or,
    left out, one of the store's own log; `accounts` are those whose messages count there, by default the one
    that the store pays with. `lease_seconds` is what a claim gets that asks for no other; null, what the
    queue says. What is left out stays what it was.
    """

    workspace_id: WorkspaceId
    role_id: RoleId
    name: Label
    topic_id: TopicId | None = None
    lease_seconds: LeaseSeconds | UnsetType | None = UNSET
    accounts: Annotated[list[AccountId], Meta(max_length=limits.ACCOUNTS_PER_ROLE_MAX)] | UnsetType = UNSET


class Role(Answer, frozen=True):
    """A role of a workspace."""

    workspace_id: str
    role_id: str
    name: str
    topic_id: str
    lease_seconds: int | None
    accounts: list[str]


class AssignQueue(Model, frozen=True):
    """A queue to give to a workspace: one that is defined, and has had no task yet."""

    workspace_id: WorkspaceId
    queue_id: Name


class WorkspaceQueue(Answer, frozen=True):
    """A queue of a workspace."""

    workspace_id: str
    queue_id: str


class DefineAgent(Model, frozen=True):
    """An agent to make or to change: the roles it has, what it is able to do, and whether it may claim. What
    is left out stays what it was.
    """

    workspace_id: WorkspaceId
    agent_id: AgentId
    role_ids: Roles | UnsetType = UNSET
    capabilities: Capabilities | UnsetType = UNSET
    active: bool | UnsetType = UNSET


class Agent(Answer, frozen=True):
    """An agent of a workspace."""

    workspace_id: str
    agent_id: str
    role_ids: list[str]
    capabilities: list[str]
    active: bool


class WorkspaceView(Answer, frozen=True):
    """A workspace with its roles, queues and agents."""

    workspace_id: str
    name: str
    created_at: str
    roles: list[Role]
    queues: list[str]
    agents: list[Agent]


class Details(Model, frozen=True):
    """What a workspace's task is about. Nobody is told before the claim is won and its proof stored."""

    title: Annotated[str, Meta(max_length=limits.TITLE_CHARS_MAX)]
    brief: str
    input: Document = NULL


class LiteTaskSpec(Model, frozen=True):
    """A task for the agents of a workspace. What it depends on is of the same workspace."""

    workspace_id: WorkspaceId
    queue_id: Name
    title: Annotated[str, Meta(min_length=1, max_length=limits.TITLE_CHARS_MAX)]
    brief: str
    required_role_id: RoleId
    input: Document = NULL
    required_capabilities: Capabilities = []
    priority: Priority = 0
    task_id: TaskId | None = None
    depends_on: Dependencies = []


class _Attempt(Model, frozen=True):
    agent_id: KnownId
    idempotency_key: IdempotencyKey
    role_ids: Annotated[list[KnownId], Meta(max_length=limits.ROLES_PER_AGENT_MAX)] | None = None
    lease_seconds: Number | None = None  # outside 1 to 3,600 the claim is rejected: invalid_lease


class ClaimNext(_Attempt, frozen=True, kw_only=True):
    """Which agent would work, on a task of which queue, in which of its roles (left out: all), and for how
    long. The key names this attempt: asking again under it gives what was answered first.
    """

    queue_id: KnownId


class ClaimTask(_Attempt, frozen=True, kw_only=True):
    """The same for one task by its id."""

    task_id: KnownId


class Claimed(Answer, frozen=True, tag_field="status", tag="claimed"):
    """A claim that won: a lease, what the task is about, and the proof that the log named this claim."""

    status: ClassVar[str] = "claimed"

    task_id: str
    claim_id: str
    event_id: str
    title: str
    brief: str
    input: Document
    fencing_token: int
    lease_expires_at: str
    proof: Proof
    children: list[Outcome] = []
    dependencies: list[Outcome] = []
    inputs: list[Input] = []


class NoTasks(Answer, frozen=True, tag_field="status", tag="no_tasks"):
    """Nothing that this agent can have now; `retry_after_seconds` is when there may be."""

    status: ClassVar[str] = "no_tasks"

    agent_id: str
    queue_id: str
    retry_after_seconds: int


class Missed(Answer, frozen=True, tag_field="status", tag="missed"):
    """Another claim won this task, or it is not to be had now."""

    status: ClassVar[str] = "missed"

    agent_id: str
    task_id: str
    retry_after_seconds: int


class Rejected(Answer, frozen=True, tag_field="status", tag="rejected"):
    """A claim that policy refuses. `retryable` says whether another attempt, under another key, may fare
    better as things stand.
    """

    status: ClassVar[str] = "rejected"

    reason: Reason
    retryable: bool
    retry_after_seconds: int | None = None


ClaimAnswer = Claimed | NoTasks | Missed | Rejected


class ListClaims(Model, frozen=True):
    """Which claims to list, oldest first: all that exist for the caller, or those of one workspace or
    topic; `after` is the last claim of the page before.
    """

    workspace_id: WorkspaceId | None = None
    topic_id: TopicId | None = None
    state: ClaimState | None = None
    limit: Limit = limits.PAGE_DEFAULT
    after: AfterId | None = None


class ClaimView(Answer, frozen=True):
    """An attempt to win a task. `fencing_token` is the one that its lease has, or would have had."""

    claim_id: str
    workspace_id: str
    task_id: str
    queue_id: str
    role_id: str
    agent_id: str
    fencing_token: int
    lease_seconds: int
    idempotency_sha256: str
    state: str
    reserved_at: str
    settled_at: str | None
    topic_id: str
    proof: Proof | None


class Claims(Answer, frozen=True):
    """A page of claims; `next` is the cursor of the page that follows, null at the end."""

    claims: list[ClaimView]
    next: str | None


class Recovered(Answer, frozen=True):
    """What became of claims that somebody had left between two of their steps."""

    claimed: int
    missed: int
    void: int
    verified: int  # proofs that the log's rows have confirmed
