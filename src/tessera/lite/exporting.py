"""topic_messages, workspace_secret: what a third party needs to check a topic by itself."""

from __future__ import annotations

from tessera.acts.act import Act, Look
from tessera.errors import InvalidRequest, NotFound
from tessera.lite.homes import is_own, reached
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.models import TopicMessages, TopicRows, WorkspaceRef, WorkspaceSecret
from tessera.rows import RoleTopic
from tessera.rules import grants
from tessera.rules.grants import Caller
from tessera.runtime import Runtime
from tessera.steps import workspaces as steps
from tessera.storage.port import Transaction
from tessera.verbs.guarded import Guarded


def topic_messages(ask: TopicRows, log: OrderedLog = LOCAL) -> Act[TopicMessages]:
    """The rows of a role's topic after a sequence number, in order, as a mirror node shows them. They hold no
    word of anybody's, but they are for admin keys and the workspace's own: they tell how busy it is. Refuses
    a topic of a network that the settings do not name with `unavailable`.
    """
    topic, own = yield Look(_TOPIC, ask)
    rows = yield from reached(log, own).read(topic.topic_id, ask.after, ask.limit)
    return TopicMessages(
        topic_id=topic.topic_id, messages=rows, next=rows[-1].sequence_number if rows else ask.after
    )


def topic_of_role(
    tx: Transaction, runtime: Runtime, caller: Caller, ask: TopicRows
) -> tuple[RoleTopic, bool]:
    """The topic of a role, if the role exists for the caller, and whether it is of the store's own log."""
    if ask.workspace_id is not None:
        steps.known(tx, caller, ask.workspace_id)
    found: list[RoleTopic] = tx.all(
        "topics_of_role_id", role_id=ask.role_id, workspace_id=ask.workspace_id or caller.workspace_id
    )
    seen = [topic for topic in found if grants.sees_workspace(caller, topic.workspace_id)]
    if not seen:
        raise NotFound("no such role")
    if len(seen) > 1:
        raise InvalidRequest("workspace_id: several workspaces have a role of this id: say whose")
    topic = seen[0]
    return topic, is_own(tx, topic.workspace_id, topic.role_id, topic.topic_id)


def workspace_secret(tx: Transaction, runtime: Runtime, caller: Caller, ask: WorkspaceRef) -> WorkspaceSecret:
    """The secret that a workspace's commitments are made under. Whoever has it can name what the log keeps
    apart, so only the owner is told, on the store's machine.
    """
    grants.is_owner(caller)
    workspace = steps.known(tx, caller, ask.workspace_id)
    return WorkspaceSecret(workspace_id=workspace.workspace_id, secret=workspace.secret)


_TOPIC = Guarded(topic_of_role, None)
