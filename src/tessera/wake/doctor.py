"""A look at everything a wake needs, with what to do about what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from tessera.runtime import real_runtime
from tessera.wake import gita
from tessera.wake.client import Client
from tessera.wake.errors import WakeError

DEAD_PANE_FIXED = (3, 4)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    ok: bool
    says: str


def examine(client: Client) -> list[Finding]:
    """Every finding, in the order in which to mend."""
    return [*_service(client), *_registry(), _tmux()]


def _service(client: Client) -> Iterator[Finding]:
    try:
        about = client.ping()
        yield Finding("service", True, f"answers at {client.path}, process {about['pid']}")
        mine, its = str(gita.registry_path()), about["gita"]["path"]
        if mine != its:
            yield Finding(
                "service", False, f"reads {its}, but your shell says {mine}: set TESSERA_WAKE_GITA_DIR"
            )
        open_ones = client.call("endpoints")["endpoints"]
        live = sum(one["live"] for one in open_ones)
        yield Finding(
            "endpoints", live > 0, f"{live} live" if live else "none live: tessera wake run, or attach"
        )
        for one in open_ones:
            if one["state"] == "stale":
                yield Finding("endpoints", False, f"{one['name']} is stale: {one['live_reason']}")
    except WakeError as refusal:
        yield Finding("service", False, refusal.detail)


def _registry() -> Iterator[Finding]:
    registry = gita.Registry(gita.registry_path(), real_runtime())
    count = registry.count()
    says = f"{count} repositories in {registry.path}" if count else f"{registry.path} is empty: gita add PATH"
    yield Finding("gita", count > 0 and not registry.stale, says)
    for name in registry.twice():
        yield Finding("gita", False, f"{name!r} is there more than once: gita rename it")


def _tmux() -> Finding:
    if shutil.which("tmux") is None:
        return Finding("tmux", True, "not installed; `tessera wake run` needs none")
    said = subprocess.run(
        ["tmux", "-V"], capture_output=True, text=True, timeout=3, check=False  # noqa: S607
    ).stdout.strip()  # fmt: skip
    version = re.search(r"(\d+)\.(\d+)", said)
    old = version is not None and (int(version[1]), int(version[2])) < DEAD_PANE_FIXED
    warning = ": a paste into a dead pane ends this server; the wake service never makes one" if old else ""
    return Finding("tmux", True, said + warning)
