"""Putting our hooks into an agent's settings, and taking exactly them out again."""

from __future__ import annotations

import copy
import difflib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Final

from tessera.wake.errors import InvalidRequest
from tessera.wake.hooks import EVENTS

HOOK_SECONDS: Final = 5
_OURS: Final = "wake hook "


def settings_path(harness: str, home: Path) -> Path:
    """Where the agent reads its user's hooks."""
    return home / (".claude/settings.json" if harness == "claude" else ".codex/hooks.json")


def command(harness: str) -> str:
    """What the agent is to run: by its full path, for the agent's PATH may be another one."""
    beside = Path(sys.executable).with_name("tessera")
    return f"{shlex.quote(str(beside)) if beside.exists() else 'tessera'} {_OURS}{harness}"


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


def read(path: Path) -> dict[str, Any]:
    """The settings as they are; none is an empty document. Refuses what is no JSON object."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InvalidRequest(f"{path} is not JSON ({error}): mend it first") from error
    if not isinstance(settings, dict):
        raise InvalidRequest(f"{path} is not a JSON object")
    return settings


def difference(path: Path, after: dict[str, Any]) -> str:
    """What writing would change, as a diff; empty if nothing."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        before.splitlines(), _text(after).splitlines(), str(path), str(path), lineterm=""
    )  # fmt: skip
    return "\n".join(lines) if read(path) != after else ""


def write(path: Path, after: dict[str, Any]) -> None:
    """Replace the settings in one go; a link is followed, the file's mode kept."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    beside = path.with_name(f".{path.name}.tessera-{os.getpid()}")
    beside.write_text(_text(after), encoding="utf-8")
    beside.chmod(mode)
    beside.replace(path)


def _text(settings: dict[str, Any]) -> str:
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
