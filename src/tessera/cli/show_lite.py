"""Views of workspaces and their claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from tessera import models
from tessera.cli import layout
from tessera.cli.text import visible

NO_WORKSPACES = "Nothing here. Make a workspace: tessera lite workspace define WS --name LABEL"


def workspace(answer: models.Workspace) -> RenderableType:
    """A table of one."""
    return workspaces(models.Workspaces([answer], next=None))


def workspaces(answer: models.Workspaces) -> RenderableType:
    """A line for each workspace."""
    rows = ((one.workspace_id, one.name, layout.moment(one.created_at)) for one in answer.workspaces)
    return layout.table("workspace, name, created", rows, none=NO_WORKSPACES)


def workspace_view(answer: models.WorkspaceView) -> RenderableType:
    """A workspace, then its roles, its queues and its agents."""
    return Group(
        workspace(models.Workspace(answer.workspace_id, answer.name, answer.created_at)),
        _roles(answer.roles),
        layout.table("queue", ((name,) for name in answer.queues), none="No queues."),
        _agents(answer.agents),
    )


def role(answer: models.Role) -> RenderableType:
    """A table of one."""
    return _roles([answer])


def queue(answer: models.WorkspaceQueue) -> RenderableType:
    """A table of one."""
    return layout.table("queue, workspace", [(answer.queue_id, answer.workspace_id)], none="")


def agent(answer: models.Agent) -> RenderableType:
    """A table of one."""
    return _agents([answer])


def claimed(answer: models.Claimed) -> RenderableType:
    """The lease and the proof, with what its holder needs to go on."""
    facts: dict[str, str | None] = {
        "title": answer.title,
        "brief": answer.brief,
        "input": layout.pretty(answer.input),
        "lease": f"token {answer.fencing_token}, until {answer.lease_expires_at}",
        "claim": answer.claim_id,
        "proof": f"{answer.proof.status}: {_place(answer.proof)}, {answer.proof.running_hash}",
        "next": f"tessera submit {answer.task_id} {answer.fencing_token} OUTPUT --idempotency-key KEY",
    }
    return layout.Facts(f"{answer.task_id}: claimed", facts, "leased")


def no_tasks(answer: models.NoTasks) -> RenderableType:
    """When to come back."""
    return Text(f"No tasks for {answer.agent_id} in {answer.queue_id}. {_again(answer.retry_after_seconds)}")


def missed(answer: models.Missed) -> RenderableType:
    """When to come back."""
    return Text(f"{answer.task_id} is not to be had. {_again(answer.retry_after_seconds)}")


def rejected(answer: models.Rejected) -> RenderableType:
    """Why, and whether another attempt may fare better."""
    again = (
        "Another attempt may fare better." if answer.retryable else "Another attempt will not fare better."
    )
    return Text(f"Rejected: {answer.reason}. {again}")


def claims(answer: models.Claims) -> RenderableType:
    """A line for each claim."""
    rows = (
        (one.claim_id, one.state, one.task_id, one.fencing_token, one.agent_id, one.role_id, one.queue_id,
         _place(one.proof), one.proof and one.proof.status, layout.moment(one.reserved_at))
        for one in answer.claims
    )  # fmt: skip
    columns = "claim, state, task, token, agent, role, queue, in the log, proof, reserved"
    return layout.table(columns, rows, none="No such claims.")


def recovered(answer: models.Recovered) -> RenderableType:
    """What became of how many."""
    ended = f"{answer.claimed} claimed, {answer.missed} missed, {answer.void} void"
    return Text(f"{ended}; {answer.verified} proofs verified")


def topics_verified(answer: models.TopicsVerified) -> RenderableType:
    """A line a topic, then the first thing that is wrong in each."""
    rows = (
        (one.topic_id, one.workspace_id, one.role_id, one.rows, one.contests, one.claims, one.unseen,
         "not read" if one.unread else "holds" if one.finding is None else "BROKEN")
        for one in answer.topics
    )  # fmt: skip
    columns = "topic, workspace, role, rows, contests, claims, unseen, verdict"
    table = layout.table(columns, rows, none="No roles, so no topics.")
    if answer.ok:
        return Group(table, Text("Everything follows from the log.", "green"))
    wrong = [Text(visible(f"{one.topic_id}: {one.finding}")) for one in answer.topics if one.finding]
    if wrong:
        wrong = [Text("The log and the claims do NOT agree:", "bold red"), *wrong]
    unread = [Text(visible(f"{one.topic_id}: not read: {one.unread}")) for one in answer.topics if one.unread]
    return Group(table, *wrong, *unread)


def secret(answer: models.WorkspaceSecret) -> RenderableType:
    """Nothing but the secret, so that it can go into a file."""
    return Text(answer.secret)


def made_topic(answer: models.MadeTopic) -> RenderableType:
    """Its id, and what it is for."""
    return Text(f"{answer.topic_id} is made: tessera lite role define … --topic {answer.topic_id}")


def _roles(roles: list[models.Role]) -> RenderableType:
    rows = (
        (one.role_id, one.name, one.topic_id, one.lease_seconds, "\n".join(one.accounts)) for one in roles
    )
    return layout.table("role, name, topic, lease (s), accounts", rows, none="No roles.")


def _agents(agents: list[models.Agent]) -> RenderableType:
    rows = (
        (one.agent_id, "active" if one.active else "inactive", "\n".join(one.role_ids),
         "\n".join(one.capabilities))
        for one in agents
    )  # fmt: skip
    return layout.table("agent, state, roles, capabilities", rows, none="No agents.")


def _place(proof: models.Proof | None) -> str | None:
    return None if proof is None else f"{proof.topic_id} #{proof.sequence_number}"


def _again(seconds: int) -> str:
    return f"Come back in {seconds} s."


VIEWS: Final[dict[type[models.Model], Callable[..., RenderableType]]] = {
    models.Workspace: workspace,
    models.Workspaces: workspaces,
    models.WorkspaceView: workspace_view,
    models.Role: role,
    models.WorkspaceQueue: queue,
    models.Agent: agent,
    models.Claimed: claimed,
    models.NoTasks: no_tasks,
    models.Missed: missed,
    models.Rejected: rejected,
    models.Claims: claims,
    models.Recovered: recovered,
    models.TopicsVerified: topics_verified,
    models.MadeTopic: made_topic,
    models.WorkspaceSecret: secret,
}
