"""What a workspace is made of. All of it is for admin keys and the store's owner. Defining again changes what
is given, but for tasks: one that is there stays what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import options

if TYPE_CHECKING:
    from tessera.library import Tessera

WORKSPACE = click.option("--workspace", "workspace_id", required=True, metavar="WS", help="The workspace.")
NAME = click.option("--name", required=True, metavar="LABEL", help="What people call it.")
CAPABILITIES = "What it is able to do; may be repeated. Left out: what it was."


@click.group()
def workspace() -> None:
    """Define, list and show workspaces.

    \b
    Example:
      tessera lite workspace define ws_acme --name Acme
    """


@workspace.command("define")
@click.argument("workspace_id", metavar="WS")
@NAME
@options.prints
@options.makes_store
def define_workspace(store: Tessera, say: Any, workspace_id: str, name: str) -> None:
    """Make a workspace, or give it another name. WS begins with ws_.

    \b
    Example:
      tessera lite workspace define ws_acme --name "Acme Ltd"
    """
    say(store.define_workspace(workspace_id, name))


@workspace.command("list")
@options.paged("workspace", "WS")
@options.prints
@options.takes_store
def list_(store: Tessera, say: Any, **page: Any) -> None:
    """List a page of the workspaces that exist for the key.

    \b
    Example:
      tessera lite workspace list
    """
    say(store.workspaces_page(**page))


@workspace.command("show")
@click.argument("workspace_id", metavar="WS")
@options.prints
@options.takes_store
def show(store: Tessera, say: Any, workspace_id: str) -> None:
    """Show one workspace with its roles, queues and agents.

    \b
    Example:
      tessera lite workspace show ws_acme
    """
    say(store.workspace(workspace_id))


@click.group()
def role() -> None:
    """Define the roles of a workspace.

    \b
    Example:
      tessera lite role define role_writer --workspace ws_acme --name Writer
    """


@role.command("define")
@click.argument("role_id", metavar="ROLE")
@WORKSPACE
@NAME
@click.option("--topic", "topic_id", metavar="TOPIC",
              help="Its topic on a network. Left out: one of the store's own log.")  # fmt: skip
@click.option(
    "--lease-seconds",
    type=int,
    help="The lease of a claim that asks for none. Left out: as before, at first the queue's.",
)
@click.option("--account", "accounts", multiple=True, metavar="ACCOUNT",
              help="An account whose messages count; may be repeated. At first: our own.")  # fmt: skip
@options.prints
@options.takes_store
def define_role(store: Tessera, say: Any, workspace_id: str, role_id: str, name: str, **given: Any) -> None:
    """Make a role, or change what is given of it; its topic stays. ROLE begins with role_.

    \b
    Example:
      tessera lite role define role_writer --workspace ws_acme --name Writer --lease-seconds 900
    """
    say(store.define_role(workspace_id, role_id, name, **options.given(**given)))


@click.group()
def queue() -> None:
    """Give a queue to a workspace.

    \b
    Example:
      tessera lite queue assign drafts --workspace ws_acme
    """


@queue.command()
@options.queue
@WORKSPACE
@options.prints
@options.takes_store
def assign(store: Tessera, say: Any, workspace_id: str, queue: str) -> None:
    """Give a queue that has had no task to a workspace, for good.

    \b
    Example:
      tessera queues define drafts
      tessera lite queue assign drafts --workspace ws_acme
    """
    say(store.assign_queue(workspace_id, queue))


@click.group()
def agent() -> None:
    """Define the agents of a workspace.

    \b
    Example:
      tessera lite agent define agt_ann --workspace ws_acme --role role_writer
    """


@agent.command("define")
@click.argument("agent_id", metavar="AGENT")
@WORKSPACE
@click.option("--role", "role_ids", multiple=True, metavar="ROLE",
              help="A role it has; may be repeated. Left out: those it had.")  # fmt: skip
@click.option("--capability", "capabilities", multiple=True, metavar="NAME", help=CAPABILITIES)
@click.option(
    "--active/--inactive", default=None, help="Whether it may claim. Left out: as before, at first it may."
)
@options.prints
@options.takes_store
def define_agent(store: Tessera, say: Any, workspace_id: str, agent_id: str, **given: Any) -> None:
    """Make an agent, or change what is given of it. AGENT begins with agt_.

    \b
    Example:
      tessera lite agent define agt_ann --workspace ws_acme --role role_writer --capability english
    """
    say(store.define_agent(workspace_id, agent_id, **options.given(**given)))


@click.group()
def task() -> None:
    """Put a task on a workspace's queue.

    \b
    Example:
      tessera lite task define drafts --workspace ws_acme --role role_writer --title Letter --brief "Write it"
    """


@task.command("define")
@options.queue
@WORKSPACE
@click.option("--title", required=True, help="What it is called.")
@click.option("--brief", required=True, metavar="TEXT", help="What is to be done.")
@click.option("--input", type=options.DOCUMENT, help="What it starts from: JSON, @FILE or -.")
@click.option("--role", "required_role_id", required=True, metavar="ROLE", help="Who may do it.")
@click.option("--capability", "required_capabilities", multiple=True, metavar="NAME",
              help="What that takes; may be repeated.")  # fmt: skip
@click.option("--priority", type=int, help="High goes first, -1000 to 1000. Left out: 0.")
@click.option("--depends-on", multiple=True, metavar="ID", help="Wait for this task; may be repeated.")
@click.option("--task-id", metavar="ID", help="The task's id; one that the queue has changes nothing.")
@options.prints
@options.takes_store
def define_task(store: Tessera, say: Any, queue: str, **spec: Any) -> None:
    """Put a task on a workspace's queue and print its id.

    \b
    Example:
      tessera lite task define drafts --workspace ws_acme --role role_writer --title Letter --brief "Write it"
    """
    from tessera import models

    say(models.Enqueued(store.define_lite_task(queue_id=queue, **options.given(**spec))))
