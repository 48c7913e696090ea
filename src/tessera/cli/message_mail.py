"""The commands of `tessera message` that handle mail: send, reply, sent, ls, read, archive, thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tessera.cli import message_options as options

if TYPE_CHECKING:
    from tessera.messages import Mail


@click.command()
@click.argument("to", metavar="[TO]", required=False)
@click.option("--to-id", metavar="ID", help="The recipient, by its exact id instead of an address.")
@options.body
@click.option("--subject", metavar="TEXT", help="What it is about, one line.")
@click.option("--in-reply-to", metavar="FILENAME", help="The message that it answers.")
@click.option("--tags", metavar="A,B", help="Tags, with commas between.")
@click.option("--wake", is_flag=True, help="Also wake the recipient: the endpoint that has its name.")
@options.idempotency_key
@options.acting
@options.prints
@options.takes_catalog
def send(
    mail: Mail, say: Any, as_: str | None, to: str | None, to_id: str | None, message: str | None,
    tags: str | None, wake: bool, **draft: Any,
) -> None:  # fmt: skip
    """Send a message. Prints its filename once the recipient has it and the ledger says so.

    With --wake, `tessera wake` rings the recipient too; if it cannot, the message is sent all the same.

    \b
    Example:
      tessera message send dev4.reviewer --as dev3.builder -m 'please look at pull 7'
      git diff | tessera message send dev4.reviewer --subject 'the diff' --idempotency-key diff-7
    """
    if (to is None) == (to_id is None):
        raise click.UsageError("give either TO or --to-id", click.get_current_context())
    recipient = to if to is not None else options.agent_id(str(to_id))
    listed = [tag.strip() for tag in (tags or "").split(",") if tag.strip()]
    actor = options.actor(as_)
    filename = mail.send(actor, recipient, options.body_text(message), tags=listed, **draft)
    say({"filename": filename}, filename)
    if wake:
        from tessera.cli.message_wake import ring

        ring(mail.shown(recipient), mail.shown(actor), filename, draft["subject"])


@click.command()
@click.argument("filename")
@options.body
@click.option("--subject", metavar="TEXT", help="What it is about. Left out: the same, after `re:`.")
@options.idempotency_key
@options.acting
@options.prints
@options.takes_catalog
def reply(mail: Mail, say: Any, as_: str | None, filename: str, message: str | None, **draft: Any) -> None:
    """Answer a message of the acting agent's inbox or archive.

    \b
    Example:
      tessera message reply 1786550000123-abc123.md --as dev4.reviewer -m 'looks fine'
    """
    sent = mail.reply(options.actor(as_), filename, options.body_text(message), **draft)
    say({"filename": sent}, sent)


@click.command()
@options.address
@options.about
@click.option("--count", is_flag=True, help="Print the number alone; refused unless it is certain.")
@click.option("--include-body", is_flag=True, help="With --json: the bodies too.")
@click.option("--since", type=options.U64, metavar="MS", help="Only later ones; milliseconds since 1970.")
@click.option("--to", metavar="ID", help="Only those to this recipient, as the ledger names it.")
@options.acting
@options.prints
@options.takes_catalog
def sent(
    mail: Mail, say: Any, address: str | None, id_: str | None, as_: str | None, count: bool, **only: Any
) -> None:
    """List what an agent has sent, and say how far that list goes.

    `since T` means complete from T (milliseconds since 1970), `partial` that a message is in flight,
    `unavailable` that nothing is known. A ledger that is not whole is refused.

    \b
    Example:
      tessera message sent dev3.builder
      tessera message sent --id 0199b8f4-8d3a-7c21-9a44-6f85b7320ea1 --json --include-body
    """
    from tessera.cli import message_views as views

    chosen = options.subject(address, id_, as_)
    answer = mail.sent(chosen, **only)
    if count:
        click.echo(views.certain_count(answer))
        return
    say(answer, views.sent(mail.find(chosen).agent.shown, answer))


@click.command()
@options.address
@options.about
@options.archive
@click.option("--count", is_flag=True, help="Print the number alone.")
@click.option("--include-body", is_flag=True, help="With --json: the bodies too.")
@click.option("--from", "from_", metavar="NAME", help="Only those that say they are from here.")
@click.option("--since", type=options.U64, metavar="MS", help="Only later ones; milliseconds since 1970.")
@options.acting
@options.prints
@options.takes_catalog
def ls(
    mail: Mail, say: Any, address: str | None, id_: str | None, as_: str | None, archive: bool, count: bool,
    **only: Any,
) -> None:  # fmt: skip
    """List an agent's inbox, or its archive, oldest first.

    \b
    Example:
      tessera message ls dev4.reviewer
      tessera message ls --as dev4.reviewer --archive --json
    """
    from tessera.cli import message_views as views

    chosen = options.subject(address, id_, as_)
    rows = mail.ls(chosen, archive=archive, **only)
    if count:
        click.echo(len(rows))
        return
    say(rows, views.listing(mail.shown(chosen), "archive" if archive else "inbox", rows))


@click.command()
@options.names
@options.about
@options.archive
@click.option("--raw", is_flag=True, help="Print the message's bytes as they arrived.")
@options.acting
@options.prints
@options.takes_catalog
def read(
    mail: Mail, say: Any, names: tuple[str, ...], id_: str | None, as_: str | None, archive: bool, raw: bool
) -> None:
    """Show one message of the inbox, or else of the archive. Reading moves nothing.

    \b
    Example:
      tessera message read dev4.reviewer 1786550000123-abc123.md
    """
    from tessera.cli import message_views as views

    one = mail.read(*options.subject_and_file(names, id_, as_), archive=archive)
    if raw:
        click.echo(one.raw, nl=False)
        return
    say(one.row, views.message(one.row))


@click.command()
@options.names
@options.about
@options.acting
@options.prints
@options.takes_catalog
def archive(mail: Mail, say: Any, names: tuple[str, ...], id_: str | None, as_: str | None) -> None:
    """Put a message of the inbox away. Again changes nothing.

    \b
    Example:
      tessera message archive 1786550000123-abc123.md --as dev4.reviewer
    """
    chosen, filename = options.subject_and_file(names, id_, as_)
    mail.archive(chosen, filename)
    say({"archived": filename}, "archived")


@click.command()
@options.names
@options.about
@click.option("--tree", is_flag=True, help="Each message below the one that it answers.")
@options.acting
@options.prints
@options.takes_catalog
def thread(
    mail: Mail, say: Any, names: tuple[str, ...], id_: str | None, as_: str | None, tree: bool
) -> None:
    """Show the conversation that a message belongs to.

    It is gathered out of every agent's boxes.

    \b
    Example:
      tessera message thread dev4.reviewer 1786550000123-abc123.md --tree
    """
    from tessera.cli import message_views as views

    found = mail.thread(*options.subject_and_file(names, id_, as_))
    posts = found.tree if tree else found.posts
    say(views.thread_rows(posts), views.thread(posts, indent=tree))
    for problem in found.unreadable:
        click.echo(f"not read: {problem}", err=True)
