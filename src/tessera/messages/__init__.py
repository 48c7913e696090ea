"""Crash-safe mail between agents, in files, with a sent ledger that verifies. See `Mail` and `open`."""

from __future__ import annotations

from pathlib import Path

from tessera.messages.addresses import AgentId
from tessera.messages.mail import Mail, Message
from tessera.runtime import Runtime

__all__ = ["AgentId", "Mail", "Message", "open"]


def open(path: str | Path, *, runtime: Runtime | None = None, external: str | None = None) -> Mail:
    """Open the catalog at a path. Nothing is made before somebody adds an agent or sends a message."""
    return Mail(path, runtime=runtime, external=external)
