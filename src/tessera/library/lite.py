"""The library's methods for workspaces and lite claims. (`store.py` says how methods are.)"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack

from msgspec import UNSET, UnsetType

from tessera import models
from tessera.library.fields import LiteTaskFields


class LiteVerbs:
    """What `Tessera` can do with workspaces, and with claims that an ordered log decides. (Contract §8.)"""

    _call: Callable[..., Any]
    _whole: Callable[[str], list[Any]]

    def define_workspace(self, workspace_id: str, name: str) -> models.Workspace:
        """Make a workspace (`ws_…`), or give it another name. Needs an admin key, as do all definitions."""
        return self._call("define_workspace", workspace_id=workspace_id, name=name)

    def define_role(
        self, workspace_id: str, role_id: str, name: str, *, topic_id: str | None = None,
        lease_seconds: int | UnsetType | None = UNSET, accounts: Iterable[str] | UnsetType = UNSET,
    ) -> models.Role:  # fmt: skip
        """Make a role (`role_…`) of a workspace, or change what is given of it. Its claims go to `topic_id`,
        by default to a topic of the store's own log; `accounts` are those whose messages count there. A lease
        of None is the queue's.
        """
        return self._call(
            "define_role", workspace_id=workspace_id, role_id=role_id, name=name, topic_id=topic_id,
            **_given(lease_seconds=lease_seconds, accounts=accounts),
        )  # fmt: skip

    def assign_queue(self, workspace_id: str, queue_id: str) -> models.WorkspaceQueue:
        """Give a defined queue that has had no task to a workspace, for good."""
        return self._call("assign_queue", workspace_id=workspace_id, queue_id=queue_id)

    def define_agent(
        self, workspace_id: str, agent_id: str, role_ids: Iterable[str] | UnsetType = UNSET,
        capabilities: Iterable[str] | UnsetType = UNSET, *, active: bool | UnsetType = UNSET,
    ) -> models.Agent:  # fmt: skip
        """Make an agent (`agt_…`) of a workspace, active and without roles or capabilities unless they are
        given; or change those of them that are given.
        """
        return self._call(
            "define_agent", workspace_id=workspace_id, agent_id=agent_id,
            **_given(role_ids=role_ids, capabilities=capabilities, active=active),
        )  # fmt: skip

    def define_lite_task(
        self, spec: Mapping[str, Any] | None = None, /, **fields: Unpack[LiteTaskFields]
    ) -> str:
        """Put a task on a workspace's queue; its id. Needs `workspace_id`, `queue_id`, `title`, `brief` (a
        text) and `required_role_id`; takes `input` (any JSON), `required_capabilities`, `priority`, `task_id`
        and `depends_on`; `spec` is the same as a dict.
        """
        return self._call("define_lite_task", **{**(spec or {}), **fields}).task_id

    def claim_next(
        self, queue_id: str, agent_id: str, idempotency_key: str, role_ids: Iterable[str] | None = None,
        lease_seconds: int | None = None,
    ) -> models.ClaimAnswer:  # fmt: skip
        """Contend for the next task of a workspace's queue: `Claimed` with a lease and the proof that it was
        won, `NoTasks`, or `Rejected` with a reason; each has a `status`. The same key gives the same answer.
        """
        return self._call(
            "claim_next", queue_id=queue_id, agent_id=agent_id, idempotency_key=idempotency_key,
            role_ids=None if role_ids is None else list(role_ids), lease_seconds=lease_seconds,
        )  # fmt: skip

    def claim_task(
        self, task_id: str, agent_id: str, idempotency_key: str, role_ids: Iterable[str] | None = None,
        lease_seconds: int | None = None,
    ) -> models.ClaimAnswer:  # fmt: skip
        """The same for one task, which may be `Missed`. `not_found` if there is no such task."""
        return self._call(
            "claim_task", task_id=task_id, agent_id=agent_id, idempotency_key=idempotency_key,
            role_ids=None if role_ids is None else list(role_ids), lease_seconds=lease_seconds,
        )  # fmt: skip

    def workspaces(self) -> list[models.Workspace]:
        """The workspaces that exist for the caller, by id."""
        return self._whole("workspaces")

    def workspaces_page(self, *, limit: int = 100, after: str | None = None) -> models.Workspaces:
        """A page of them, at most 1,000; pass its `next` as `after` for the page that follows."""
        return self._call("workspaces", limit=limit, after=after)

    def workspace(self, workspace_id: str) -> models.WorkspaceView:
        """One workspace with its roles, queues and agents."""
        return self._call("workspace", workspace_id=workspace_id)

    def claims(
        self, workspace_id: str | None = None, topic_id: str | None = None, state: str | None = None, *,
        limit: int = 100, after: str | None = None,
    ) -> models.Claims:  # fmt: skip
        """A page of claims, won or not, oldest first; pass its `next` as `after` for the page that
        follows.
        """
        return self._call(
            "claims", workspace_id=workspace_id, topic_id=topic_id, state=state, limit=limit, after=after
        )

    def topic_messages(
        self, role_id: str, workspace_id: str | None = None, *, after: int = 0, limit: int = 100
    ) -> models.TopicMessages:
        """Rows of a role's topic in the log, as a mirror node shows them; pass `next` as `after` for more.
        `workspace_id` says whose role it is, if several workspaces have one of that id.
        """
        return self._call(
            "topic_messages", role_id=role_id, workspace_id=workspace_id, after=after, limit=limit
        )

    def workspace_secret(self, workspace_id: str) -> str:
        """The secret that a workspace's ids are hidden under in the log, in hex; for the owner alone."""
        found: models.WorkspaceSecret = self._call("workspace_secret", workspace_id=workspace_id)
        return found.secret

    def recover_claims(self) -> models.Recovered:
        """Finish the claims that were left between two steps a minute ago or earlier. A service does so by
        itself.
        """
        return self._call("recover_claims")


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that somebody gave, as the wire has them."""
    return {
        name: list(value) if isinstance(value, Iterable) else value
        for name, value in fields.items()
        if value is not UNSET
    }
