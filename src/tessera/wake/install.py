"""Putting our hooks into an agent's settings, and taking exactly them out again."""

from __future__ import annotations

import copy
import shlex
from pathlib import Path
from typing import Any, Final

from tessera.agent_files import program
from tessera.wake.errors import InvalidRequest
from tessera.wake.hooks import EVENTS

HOOK_SECONDS: Final = 5
_OURS: Final = "wake hook "


def settings_path(harness: str, home: Path) -> Path:
    """Where the agent reads its user's hooks."""
    return home / (".claude/settings.json" if harness == "claude" else ".codex/hooks.json")


def command(harness: str) -> str:
    """What the agent is to run: by its full path, for the agent's PATH may be another one."""
    return f"{shlex.quote(program())} {_OURS}{harness}"


def installed(settings: dict[str, Any], harness: str) -> dict[str, Any]:
    """The settings with our hooks; whatever else they hold stays."""
    after = removed(settings)
    for event in EVENTS:
        if event == "SessionEnd" and harness == "codex":
            continue  # Codex has no such hook
        ours = {"hooks": [{"type": "command", "command": command(harness), "timeout": HOOK_SECONDS}]}
        after.setdefault("hooks", {}).setdefault(event, []).append(ours)
    return after


def removed(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without our hooks, and without what would be left empty by that."""
    after = copy.deepcopy(settings)
    hooks = after.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise InvalidRequest("the settings' hooks have a shape that is not known here: edit them by hand")
    for event, groups in list(hooks.items()):
        kept = [group for group in groups if not _is_ours(group)]
        if len(kept) == len(groups):
            continue
        hooks[event] = kept
        if not kept:
            del hooks[event]
    if not hooks and settings.get("hooks"):
        del after["hooks"]
    return after


def _is_ours(group: Any) -> bool:
    hooks = group.get("hooks", []) if isinstance(group, dict) else []
    return bool(hooks) and all(isinstance(one, dict) and _OURS in str(one.get("command")) for one in hooks)
