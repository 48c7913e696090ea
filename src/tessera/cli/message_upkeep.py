"""`tessera message verify`, `abandon`, `agents`, `migrate-ids`: what keeps a catalog sound."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from tessera.cli import message_options as options

if TYPE_CHECKING:
    from tessera.messages import Mail

bus_address = click.argument("bus_address", metavar="HOST.ADDRESS")


@click.command()
@options.address
@options.about
@options.prints
@options.takes_catalog
def verify(mail: Mail, say: Any, address: str | None, id_: str | None) -> None:
    """Verify the sent ledger of one agent, or of every agent. Exits 1 if one is not whole.

    \b
    Example:
      tessera message verify
      tessera message verify dev3.builder --json
    """
    from tessera.cli import message_views as views
    from tessera.messages.verify import Report

    chosen, total, faults = None, 1, list[str]()
    if address is None and id_ is None:
        book = mail.agents()
        total, faults = len(book.subjects), book.faults
    else:
        chosen = options.subject(address, id_, None)
    quiet = not sys.stderr.isatty()
    with click.progressbar(mail.verify(chosen), total, "verifying", file=sys.stderr, hidden=quiet) as reports:
        found = list(reports)
    report = Report(not faults and all(one.ok for one in found), found, faults)
    say(report, views.report(report))
    if not report.ok:
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.acting
@options.prints
@options.takes_catalog
def abandon(mail: Mail, say: Any, as_: str | None, yes: bool) -> None:
    """Give up the message in flight, whose recipient is gone. Later ones may then go out.

    It is kept in the sender's `resources/sent/abandoned`.

    \b
    Example:
      tessera message abandon --as dev3.builder --yes
    """
    from tessera.cli import message_views as views

    sender = options.actor(as_)
    if not yes:
        click.echo(views.lost(mail.stuck(sender)), err=True)
        click.confirm("Give it up?", abort=True, err=True)
    lost = mail.abandon(sender)
    say(lost, f"given up: {views.lost(lost)}")


@click.command()
@options.prints
@options.takes_catalog
def migrate_ids(mail: Mail, say: Any) -> None:
    """Give every agent that has none its immutable id.

    It is HOST.IDENTITY, or a new one where a live agent keeps that.

    \b
    Example:
      tessera message migrate-ids
    """
    from tessera.cli import message_views as views

    changed = [one.agent for one in mail.migrate_ids()]
    lines = [views.agent_line(agent) for agent in changed]
    say(changed, "\n".join([*lines, f"# {len(changed)} agent(s) changed"]))


@click.group()
def agents() -> None:
    """Add, list, show, move and retire the agents of a catalog.

    \b
    Example:
      tessera message agents add dev3.builder --name 'The builder'
    """


@agents.command()
@bus_address
@click.option("--name", metavar="NAME", help="What people call it; it routes nothing.")
@click.option("--id", "id", metavar="ID", help="Its immutable id. Left out: a new UUIDv7.")
@options.prints
@options.takes_catalog
def add(mail: Mail, say: Any, bus_address: str, name: str | None, id: str | None) -> None:
    """Declare an agent at a free address, with boxes of its own.

    \b
    Example:
      tessera message agents add dev3.builder --name 'The builder'
    """
    agent = mail.add_agent(bus_address, name=name, id=id).agent
    say(agent, agent.known_id)


@agents.command("list")
@options.prints
@options.takes_catalog
def list_(mail: Mail, say: Any) -> None:
    """List all agents. Exits 1 if a declaration cannot be read.

    \b
    Example:
      tessera message agents list --json
    """
    from tessera.cli import message_views as views

    book = mail.agents()
    found = [one.agent for one in book.subjects]
    text = "\n".join(views.agent_line(agent) for agent in found)
    say({"agents": found, "faults": book.faults}, text or "No agents yet.")
    for fault in book.faults:
        click.echo(f"error: {fault}", err=True)
    if book.faults:
        raise click.exceptions.Exit(1)


@agents.command()
@options.address
@options.about
@options.acting
@options.prints
@options.takes_catalog
def show(mail: Mail, say: Any, address: str | None, id_: str | None, as_: str | None) -> None:
    """Show one agent.

    \b
    Example:
      tessera message agents show dev3.builder
    """
    from tessera.cli import message_views as views

    one = mail.find(options.subject(address, id_, as_))
    say(one.agent, views.agent_facts(one))


@agents.command()
@click.argument("address", metavar="ADDRESS")
@bus_address
@options.prints
@options.takes_catalog
def move(mail: Mail, say: Any, address: str, bus_address: str) -> None:
    """Give an agent another address on its host. Its id, mail and history stay.

    \b
    Example:
      tessera message agents move dev3.builder dev3.ci.builder
    """
    from tessera.cli import message_views as views

    agent = mail.move_agent(address, bus_address).agent
    say(agent, views.agent_line(agent))


@agents.command()
@options.address
@options.about
@options.prints
@options.takes_catalog
def retire(mail: Mail, say: Any, address: str | None, id_: str | None) -> None:
    """Take an agent out of service. Its address is free; its id, mail and history stay.

    \b
    Example:
      tessera message agents retire dev3.builder
    """
    from tessera.cli import message_views as views

    if (address is None) == (id_ is None):
        raise click.UsageError("give either ADDRESS or --id", click.get_current_context())
    agent = mail.retire_agent(address if address is not None else options.agent_id(str(id_))).agent
    say(agent, views.agent_line(agent))
