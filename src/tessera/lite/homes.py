"""Where a role's topic lies: in the store's own log, or on a network. Its id tells which."""

from __future__ import annotations

from typing import Final

from tessera.errors import Unavailable
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.lite.message import Commitments
from tessera.rows import TopicRow, WorkspaceRow
from tessera.storage.port import Transaction

_FAR: Final = (
    "the role's topic lies on a network, and claims go to the store's own log here: set "
    "TESSERA_LITE_LOG=hedera"
)


def is_own(tx: Transaction, workspace_id: str, role_id: str, topic_id: str) -> bool:
    """Whether a role's topic is of the store's own log: its id is then made of the workspace's secret, and
    once it has a message the store has it in its tables, whatever somebody has done to the secret since.
    """
    workspace: WorkspaceRow = tx.one("workspace_named", workspace_id=workspace_id)
    if topic_id == Commitments(bytes.fromhex(workspace.secret)).topic(role_id):
        return True
    head: TopicRow = tx.one("topic_head", topic_id=topic_id)
    return head.sequence_number is not None


def reaching(log: OrderedLog, own: bool) -> OrderedLog | None:
    """The log that a topic lies in; None: on a network that the log of the settings is not."""
    if own:
        return LOCAL
    return None if log.at_home else log


def reached(log: OrderedLog, own: bool) -> OrderedLog:
    """The same, or `unavailable`."""
    found = reaching(log, own)
    if found is None:
        raise Unavailable(_FAR, definite=True)
    return found
