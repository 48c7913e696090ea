"""`tessera blobs`: bytes under their hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from tessera.cli import files, options

if TYPE_CHECKING:
    from tessera.library import Tessera

sha256 = click.argument("sha256", metavar="SHA256")


@click.group()
def blobs() -> None:
    """Store bytes under their hash, and read them back verified.

    \b
    Example:
      tessera blobs put report.pdf
    """


@blobs.command()
@files.source
@options.prints
@options.makes_store
def put(store: Tessera, say: Any, file: BinaryIO) -> None:
    """Store a file's bytes, up to 16 MiB, and print their SHA-256. FILE may be - for standard input.

    \b
    Example:
      tessera blobs put report.pdf
      make-report | tessera blobs put -
    """
    with files.counted(file, "storing") as source:
        stored = store.put_blob(source)
    say(store.blob_meta(stored))


@blobs.command()
@sha256
@files.part
@files.target
@options.prints
@options.takes_store
def get(store: Tessera, say: Any, sha256: str, part: Any, target: str) -> None:
    """Write a blob's bytes to a file or standard output, verified.

    All of them are verified first, also when some of them are asked for.

    \b
    Example:
      tessera blobs get 9f86d081… --output report.pdf
      tessera blobs get 9f86d081… --range 0-1023 | head
    """
    files.refuse_mixing(target)
    files.write(store.blob_content(sha256, *(part or ())), target, say)


@blobs.command()
@sha256
@options.prints
@options.takes_store
def show(store: Tessera, say: Any, sha256: str) -> None:
    """Show whether the store has a blob, and its size.

    \b
    Example:
      tessera blobs show 9f86d081…
    """
    say(store.blob_meta(sha256))
