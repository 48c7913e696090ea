"""What the wake commands share: the client, and how answers are printed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

Body = Callable[..., None]


def takes_socket(body: Body) -> Body:
    """Add `--socket`; the command gets a client of the service as its first argument."""

    @click.option("--socket", "socket_path", type=click.Path(path_type=Path), metavar="PATH",
                  envvar="TESSERA_WAKE_SOCKET", show_envvar=True,
                  help="The service's socket. Left out: this user's.")  # fmt: skip
    @functools.wraps(body)
    def command(*args: Any, socket_path: Path | None, **options: Any) -> None:
        from tessera.wake.client import Client

        body(Client(socket_path), *args, **options)

    return command


def prints(body: Body) -> Body:
    """Add `--json`; the command gets `say`, which prints an answer the way that was asked for."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON, as the service answers.")
    @functools.wraps(body)
    def command(*args: Any, as_json: bool, **options: Any) -> None:
        body(*args, say=_say_json if as_json else _say, **options)

    return command


def _say_json(answer: Any, text: Callable[[], str] | str) -> None:
    import msgspec

    click.echo(msgspec.json.encode(answer))


def _say(answer: Any, text: Callable[[], str] | str) -> None:
    click.echo(text if isinstance(text, str) else text())


def table(columns: str, rows: Iterable[Iterable[object]], none: str) -> str:
    """Columns of text, as wide as they need to be, nothing in them able to drive a terminal."""
    from tessera.cli.text import shortened

    heads = columns.split(", ")
    cells = [["" if value is None else shortened(str(value), 60) for value in row] for row in rows]
    if not cells:
        return none
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in [heads, *cells]
    )
    return "\n".join(line.rstrip() for line in lines)


def moment(at_ms: int | None) -> str | None:
    """A time of the service to the second, in UTC."""
    from tessera.runtime import rfc3339

    return None if at_ms is None else f"{rfc3339(at_ms * 1_000)[:19]}Z".replace("T", " ")
