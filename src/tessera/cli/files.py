"""Bytes in and out of commands: a file or standard input, a file or standard output, and how far it is."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import click

from tessera.errors import InvalidRequest

if TYPE_CHECKING:
    from tessera import models

STANDARD: Final = "-"
_DIGITS: Final = re.compile("[0-9]{0,18}")

source = click.argument("file", type=click.File("rb"))
target = click.option(
    "--output", "-o", "target", default=STANDARD, metavar="FILE", type=click.Path(dir_okay=False),
    help="Where the bytes go. Left out, or -: standard output.",
)  # fmt: skip


class Slice(click.ParamType[tuple[int | None, int | None]]):
    """Some bytes of a file: `A-B`, both included, `A-` to the end, `-N` the last."""

    name = "range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The slice as Python counts: start, and the place after the last byte."""
        first, dash, last = value.partition("-")
        if not dash or not all(_DIGITS.fullmatch(number) for number in (first, last)):
            self.fail("not A-B, A- or -N", param, ctx)
        if not first and not last.strip("0"):
            self.fail("the last 0 bytes are none", param, ctx)
        if not first:
            return -int(last), None
        if last and int(last) < int(first):
            self.fail("it ends before it begins", param, ctx)
        return int(first), int(last) + 1 if last else None


part = click.option(
    "--range", "part", type=Slice(), default=None, metavar="A-B", help="Only these bytes: A-B, A- or -N."
)


class Counted:
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, bar: Any) -> None:
        self._file = file
        self._bar = bar

    def read(self, size: int) -> bytes:
        """The next bytes."""
        piece = self._file.read(size)
        self._bar.update(len(piece))
        return piece


@contextmanager
def counted(file: BinaryIO, label: str) -> Iterator[Any]:
    """The file to read; on a terminal a bar on stderr shows how far it is, where that is known."""
    size = _size(file) if sys.stderr.isatty() else None
    if size is None:
        yield file
        return
    bar: Any = click.progressbar(length=size, label=label, file=sys.stderr)
    with bar:
        yield Counted(file, bar)


def refuse_mixing(target: str) -> None:
    """Bytes and JSON do not go to one place."""
    ctx = click.get_current_context()
    if target == STANDARD and ctx.params["as_json"]:
        raise click.UsageError("--json describes the bytes: name a file for them with --output", ctx)


def write(content: models.Content, target: str, say: Any) -> None:
    """Put verified bytes where they belong. A file appears whole or not at all, and then is told of."""
    try:
        with cast(BinaryIO, click.open_file(target, "wb", atomic=_is_replaceable(target))) as file:
            for piece in content.pieces:
                file.write(piece)
    except OSError as error:
        if target == STANDARD:
            raise
        raise InvalidRequest(f"--output: cannot write {target}: {error.strerror}") from error
    if target != STANDARD:
        names = [name for name in content.__struct_fields__ if name != "pieces"]
        say(content, wire={name: getattr(content, name) for name in names})


def _size(file: BinaryIO) -> int | None:
    """How many bytes a regular file has; nobody knows of a pipe."""
    try:
        about = os.fstat(file.fileno())
    except OSError:
        return None
    return about.st_size if stat.S_ISREG(about.st_mode) else None


def _is_replaceable(target: str) -> bool:
    """Whether a name stands for a plain file or nothing yet, not for a device or a pipe."""
    return target != STANDARD and (not os.path.exists(target) or os.path.isfile(target))
