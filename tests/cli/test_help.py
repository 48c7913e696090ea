"""What everybody sees first: the table, help, wrong usage."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from tessera.cli.main import COMMANDS, main
from tessera.cli.table import Table
from tessera.limits import PAGE_DEFAULT
from tessera.surface import SURFACE

HEAVY = ["apsw", "msgspec", "rich", "uvicorn", "tessera.app", "tessera.library", "tessera.cli.options"]
WITHOUT_JSON = {"tessera work", "tessera serve", "tessera mcp stdio", "tessera openapi"} | {
    *(f"tessera wake {name}" for name in ("serve", "run", "hook", "mcp", "bridge")),
    *(f"tessera lite {name}" for name in ("export", "verifier")),  # lines of JSON, and a program
}
WITHOUT_STORE = ("tessera wake serve", "tessera openapi", "tessera lite verifier")


def commands(group: click.Group = main, path: str = "tessera") -> Iterator[tuple[str, click.Command]]:
    """Every command of the command line with the words that lead to it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_help_loads_nothing_but_click_and_the_table() -> None:
    """`tessera --help` imports no driver, no rich, no models, no library and no server."""
    code = f"""
import sys
from tessera.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
assert not [name for name in {HEAVY} if name in sys.modules], sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_help_of_a_command_loads_no_store() -> None:
    """`tessera claim --help` needs neither the library nor rich."""
    code = """
import sys
from tessera.cli.main import main
try:
    main(["claim", "--help"])
except SystemExit:
    pass
assert not {"apsw", "msgspec", "rich", "tessera.library"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_table_says_what_the_commands_say() -> None:
    """A line of a table is the first sentence of that command's own help."""
    tables = [main, *(command for _, command in commands() if isinstance(command, Table))]
    assert len(tables) > 1
    lines = [(table, name, line) for table in tables for rows in table.headings.values()
             for name, (_, line) in rows.items()]  # fmt: skip
    for table, name, line in lines:
        command = table.get_command(click.Context(table), name)
        assert command is not None
        assert command.get_short_help_str(limit=200).startswith(line.removesuffix(".")), name


def test_every_verb_has_its_command() -> None:
    """The command that the surface names for a verb exists, with the option that it names."""
    known = dict(commands())
    for row in SURFACE.values():
        words, *named = row.command.split(" --")
        options = {option for param in known[f"tessera {words}"].params for option in param.opts}
        assert {f"--{option}" for option in named} <= options, row.command


def test_every_list_is_paged_by_the_same_options() -> None:
    """The command of a verb that lists pages takes `--limit` and `--after`, and says it in the same words."""
    known = dict(commands())
    lists = [row for row in SURFACE.values() if {"limit", "after"} <= set(row.ask.__struct_fields__)]
    assert len(lists) > 12
    for row in lists:
        if row.name == "topic_messages":
            continue  # prints every row of a topic, for a program that checks them all
        options = {option: param for param in known[f"tessera {row.command}"].params for option in param.opts}
        assert str(getattr(options["--limit"], "help", "")).startswith("How many, at most "), row.name
        assert str(getattr(options["--after"], "help", "")).startswith("The page after this "), row.name
        assert options["--limit"].default == PAGE_DEFAULT


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=str)
def test_help_shows_an_example(path: str, command: click.Command) -> None:
    """The help of every command holds an example of that command."""
    text = command.get_help(click.Context(command, info_name=path))

    assert "Example:" in text
    assert f"{path} " in text.split("Example:")[1] or f"{path}\n" in text.split("Example:")[1]


def test_a_group_cuts_off_no_line() -> None:
    """The line that a group's help has for a command is whole on a terminal of 80 columns."""
    for path, group in [("tessera", main), *commands()]:
        if isinstance(group, click.Group):
            text = group.get_help(click.Context(group, info_name=path, terminal_width=80))
            assert [line for line in text.splitlines()[1:] if line.endswith("...")] == [], path


@pytest.mark.parametrize(("path", "command"), list(commands()), ids=str)
def test_commands_share_their_options(path: str, command: click.Command) -> None:
    """Every command takes `--store`, those of mail `--catalog`, those of wakes `--socket`; all that print
    data take `--json`: all but those that run until they are stopped, that know one form only, or that print
    what no store has a say in.
    """
    if isinstance(command, click.Group):
        return
    names = {name for param in command.params for name in param.opts}

    room = " ".join(path.split()[:2])
    if path not in WITHOUT_STORE:
        assert {
            "tessera message": "--catalog",
            "tessera wake": "--socket",
            "tessera migrate-store": "source",
        }.get(room, "--store") in names
    assert ("--json" in names) == (path not in WITHOUT_JSON)


def test_main_help_lists_every_command(cli) -> None:
    """The first page names each command once, under its heading."""
    text = cli("--help").stdout

    for heading, rows in COMMANDS.items():
        assert f"{heading}:" in text
        for name in rows:
            assert f"\n  {name} " in text


def test_version(cli) -> None:
    """`--version` prints the version."""
    assert cli("--version").stdout.startswith("tessera, version ")


def test_unknown_command_is_wrong_usage(cli) -> None:
    """A command that does not exist is wrong usage, and a near miss is named."""
    assert "Did you mean 'claim'?" in cli("claimx", code=2).stderr


def test_missing_argument_is_wrong_usage(cli) -> None:
    """A missing argument is wrong usage."""
    assert "Missing argument 'TASK'" in cli("heartbeat", code=2).stderr
