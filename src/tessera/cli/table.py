"""A group of commands as a table of their names. It loads what is asked for and nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import click

# heading -> command -> (module of this package that holds it under the same name, what it does)
Headings: TypeAlias = dict[str, dict[str, tuple[str, str]]]


class Table(click.Group):
    """A click group that holds names for listing and guessing."""

    def __init__(self, headings: Headings, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.headings = headings
        self._modules = {name: module for rows in headings.values() for name, (module, _) in rows.items()}
        self.commands = {name: click.Command(name) for name in self._modules}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself, out of its module."""
        module = self._modules.get(cmd_name)
        if module is None:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"tessera.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, without loading anything."""
        for heading, rows in self.headings.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in rows.items()])
