"""Changing an agent's file at the user's word: what it becomes is shown, and asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tessera import agent_files


def change(path: Path, after: str, *, yes: bool, say: Any, note: str = "") -> None:
    """Show what the file would become, ask unless `yes`, write it, and say so, followed by `note`."""
    difference = agent_files.difference(path, after)
    if not difference:
        say({"path": str(path), "changed": False}, f"{path}: nothing to change")
        return
    click.echo(difference, err=True)
    if not yes:
        click.confirm(f"Write this to {path}?", abort=True, err=True)
    agent_files.write(path, after)
    say({"path": str(path), "changed": True}, f"{path}: written{note}")
