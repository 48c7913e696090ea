"""The report as a task's output: its figures, and each page with its text and hash. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypedDict

from examples.stdlib_swarm.findings import findings
from examples.stdlib_swarm.package import Package
from examples.stdlib_swarm.pages import html_page, markdown_page


class File(TypedDict):
    """A file's text and the hash of its bytes."""

    sha256: str
    text: str


class Report(TypedDict):
    """What the report task hands in."""

    summary: dict[str, str]
    files: dict[str, File]


def report(packages: Sequence[Package]) -> Report:
    """The report on these packages.

    A worker's key only reads, so the worker writes no file: whoever asked for the report does. The receipt
    covers the hashes, so anybody can tell later whether the files are still what the worker handed in.
    """
    found = findings(packages)
    pages = {"report.md": markdown_page(found), "report.html": html_page(found)}
    return Report(
        summary=found.figures,
        files={name: File(sha256=sha256(text.encode()), text=text) for name, text in pages.items()},
    )


def sha256(content: bytes) -> str:
    """The hash of some bytes, in hex."""
    return hashlib.sha256(content).hexdigest()
