"""What the tests of the messages room stand on: a catalog, an independent reader and writer of its files, and
processes that die on cue.

Canonical bytes are made here by the standard library's JSON in the order of keys that the format declares,
not by the code under test.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ALICE, BOB, CAROL = "h.alice", "h.bob", "h.carol"


def canonical(value: Any) -> bytes:
    """Compact JSON in the order of the keys as they stand, raw UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def sha(content: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


class Sent:
    """One agent's `resources/sent`, read and written by hand."""

    def __init__(self, catalog: Path, address: str) -> None:
        host, _, identity = address.partition(".")
        self.home = catalog / "agents" / host / identity
        self.path = self.home / "resources" / "sent"
        self.index = self.path / "index.json"
        self.active = self.path / "active.json"

    def folder(self, name: str) -> Path:
        return self.path / name

    def names(self, name: str) -> list[str]:
        """The entries of one folder, without temporary ones."""
        path = self.path / name
        return sorted(filter(is_named, os.listdir(path))) if path.exists() else []

    def pending_filenames(self) -> set[str]:
        """The messages that are in flight."""
        return {load(self.path / "pending" / name)["filename"] for name in self.names("pending")}

    def head(self) -> dict[str, Any]:
        return load(self.index)

    def rows(self) -> list[dict[str, Any]]:
        """Every row, by filename."""
        return [load(self.path / "messages" / name) for name in self.names("messages")]

    def chain(self) -> list[tuple[str, dict[str, Any]]]:
        """Digest and content of every node, newest first."""
        nodes, name = [], self.head()["tip"]
        while name is not None:
            nodes.append((name, load(self.path / "commits" / f"{name}.json")))
            name = nodes[-1][1]["previous"]
        return nodes

    def put(self, place: str, value: Any) -> Path:
        """Write a document in its canonical form."""
        path = self.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else canonical(value))
        return path

    def put_node(self, node: dict[str, Any]) -> str:
        """Write a node under its own true digest."""
        name = sha(canonical(node))
        self.put(f"commits/{name}.json", node)
        return name

    def put_pending(self, record: dict[str, Any]) -> str:
        """Write a pending record under its own true digest."""
        name = sha(canonical(record))
        self.put(f"pending/{name}.json", record)
        return name

    def put_active(self, record: dict[str, Any]) -> None:
        """Write the pointer to a record."""
        digest = sha(canonical(record))
        self.put("active.json", {"version": 1, "filename": record["filename"], "recordDigest": digest})

    def put_head(self, **changes: Any) -> None:
        self.put("index.json", {**self.head(), **changes})

    def inbox(self) -> list[str]:
        return sorted(filter(is_named, os.listdir(self.home / "resources" / "inbox")))

    def box(self, name: str, filename: str) -> Path:
        return self.home / "resources" / name / filename


def is_named(name: str) -> bool:
    """Whether a name is no temporary one."""
    return not name.startswith(".message.tmp-")


def load(path: Path) -> Any:
    """A document, its keys in the order of the file."""
    return json.loads(path.read_bytes())


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(
    catalog: Path, *args: str, at: str | None = None, code: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """`tessera message …`, or some Python, in a process of its own, which may die at a crash point."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("TESSERA_", "ST_"))}
    extra = {} if at is None else {"TESSERA_CRASH_AT": at}
    python = ["-c", code] if code else ["-m", "tessera.cli.main", "message", *args]
    return subprocess.run(
        [sys.executable, *python],
        env={**clean, "TESSERA_CATALOG": str(catalog), **extra, **env},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
