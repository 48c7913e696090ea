"""Files that belong to an agent and that we add something to: read as they are, replaced in one go."""

from __future__ import annotations

import difflib
import json
import os
import sys
from pathlib import Path
from typing import Any

from tessera.errors import InvalidRequest


def program() -> str:
    """Our own command by its full path, for an agent's PATH may be another one."""
    beside = Path(sys.executable).with_name("tessera")
    return str(beside) if beside.exists() else "tessera"


def text_of(path: Path) -> str:
    """The file as it is; none is empty. Refuses what is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path} is not UTF-8: mend it first") from error


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; none is an empty one. Refuses what is no JSON object."""
    try:
        settings = json.loads(text_of(path) or "{}")
    except ValueError as error:
        raise InvalidRequest(f"{path} is not JSON ({error}): mend it first") from error
    if not isinstance(settings, dict):
        raise InvalidRequest(f"{path} is not a JSON object")
    return settings


def with_json(path: Path, after: dict[str, Any]) -> str:
    """The file's text with this object in it; the text as it is if it holds the same already."""
    if json_object(path) == after:
        return text_of(path)
    return json.dumps(after, indent=2, ensure_ascii=False) + "\n"


def difference(path: Path, after: str) -> str:
    """What writing a text would change, as a diff; empty if nothing."""
    before = text_of(path)
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), str(path), lineterm=""
    )  # fmt: skip
    return "\n".join(lines) if before != after else ""


def write(path: Path, text: str) -> None:
    """Replace the file in one go; a link is followed, the file's mode kept."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    beside = path.with_name(f".{path.name}.tessera-{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.chmod(mode)
    beside.replace(path)
