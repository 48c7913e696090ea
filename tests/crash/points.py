"""The crash points of the source: every name that is handed to `reach`."""

from __future__ import annotations

import ast
from pathlib import Path

import tessera

SOURCE = Path(tessera.__file__).parent
ROOMS = ("lite", "messages", "wake")


def named_in(folder: Path = SOURCE) -> set[str]:
    """Every point. One whose name is put together at run time could not be walked, and is refused."""
    points = set()
    for path in sorted(folder.rglob("*.py")):
        if folder == SOURCE and path.relative_to(SOURCE).parts[0] in ROOMS:
            continue  # a room walks its own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not _is_reach(node.func):
                continue
            (name,) = node.args
            assert isinstance(name, ast.Constant), f"{path.name}:{node.lineno}: name the point in place"
            points.add(name.value)
    return points


def _is_reach(called: ast.expr) -> bool:
    return getattr(called, "attr", getattr(called, "id", "")).lstrip("_") == "reach"
