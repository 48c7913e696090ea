"""The house's law about its own text: short functions, short files, no banned call, no dead statement."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest
from long_ones import LONG_ONES

import tessera

ROOT = Path(__file__).parent.parent
HOUSE = Path(tessera.__file__).parent
FILES = sorted(
    path
    for folder in ("src", "tests", "conformance", "examples", "benchmarks", "docs", "interop")
    for path in (ROOT / folder).rglob("*.py")
)
LINES_PER_FILE_MAX = 300
LINES_PER_FUNCTION_MAX = 60
COLUMNS_MAX = 110

# What the house may not write, and the only files of the house that may.
BANNED = {
    r"\bprint\(": (),
    r"FIX" + "ME|TO" + "DO|XX" + "X": (),
    r"^\s*(import|from) (time|random|secrets|uuid|datetime)\b": ("runtime.py",),
    r"^\s*import apsw": (
        "connection.py",
        "sqlite.py",
        "prepared.py",
        "readers.py",
        "migrate.py",
        "checkpoints.py",
        "forks.py",
        "backup.py",
        "probe.py",
        "moving/tables.py",
    ),
    r"\b(?i:select|update|delete|insert) .*\b(from|set|into)\b": (
        "connection.py",
        "sqlite.py",
        "migrate.py",
        "moving/sqlite.py",
        "moving/postgres.py",
        "moving/tables.py",
        "testing_postgres.py",
    ),
    r"# *type: *ignore": (),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    """No file over 300 lines (but those that `make docs` writes), no function over 60, no line over 110."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]

    assert len(lines) <= LINES_PER_FILE_MAX or "Made by `make docs`" in lines[0]
    assert [f.name for f in functions if f.end_lineno - f.lineno >= LINES_PER_FUNCTION_MAX] == []
    assert [line for line in lines if len(line) > COLUMNS_MAX] == []


@pytest.mark.parametrize("path", sorted(HOUSE.rglob("*.py")), ids=lambda path: str(path.relative_to(HOUSE)))
def test_nothing_banned(path: Path) -> None:
    """No print, no clock outside the runtime, no SQL outside its files, no silenced type."""
    text = path.read_text(encoding="utf-8")
    code = "\n".join(
        line for line in _without_docstrings(text).splitlines() if not line.lstrip().startswith("#")
    )
    broken = [
        pattern
        for pattern, allowed in BANNED.items()
        if not path.as_posix().endswith(tuple(f"/{name}" for name in allowed))
        and re.search(pattern, code, re.MULTILINE)
    ]

    assert broken == []


@pytest.mark.parametrize("path", sorted(HOUSE.rglob("*.py")), ids=lambda path: str(path.relative_to(HOUSE)))
def test_everything_public_says_what_it_is(path: Path) -> None:
    """Every module, public class and public function has a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]

    assert ast.get_docstring(tree) is not None
    assert silent == []


def test_every_statement_is_used() -> None:
    """A statement that no code beside the stores names is dead and goes: a verb or a field of its name, in a
    table of the surface or of a command, is no use of it.
    """
    doors = {"cli", "client", "library", "models", "service", "tools", "surface.py", "names.py"}
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in HOUSE.rglob("*.py")
        if path.relative_to(HOUSE).parts[0] not in doors
    )
    names = [
        name
        for path in HOUSE.rglob("sql/**/*.sql")
        for name in re.findall(r"^-- name: (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert names
    assert [name for name in names if f'"{name}"' not in source] == []


def test_every_statement_says_what_it_does() -> None:
    """Between its name and its text, a statement has a comment that is a sentence."""
    silent = [
        block.split("\n", 1)[0]
        for path in HOUSE.rglob("sql/**/*.sql")
        for block in path.read_text(encoding="utf-8").split("-- name: ")[1:]
        if not re.search(r"^-- (?!row:|remembered until:)[A-Z].*$", block, re.MULTILINE)
    ]

    assert silent == []


def test_what_is_begun_first_is_there() -> None:
    """Every file that a run begins with exists."""
    assert [name for name in LONG_ONES if not (ROOT / "tests" / name).exists()] == []


def test_nothing_names_a_machine() -> None:
    """The repository speaks of the product: no path of anybody's machine is in it, only the service's own."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    named = [
        name
        for name in tracked.stdout.splitlines()
        if (ROOT / name).is_file()
        and re.search(rb"/wor" + rb"k/(?!tasks/|sign-)|/hom" + rb"e/\w", (ROOT / name).read_bytes())
    ]

    assert named == []


def _without_docstrings(text: str) -> str:
    """The source with every docstring emptied, so that prose may speak of what code may not do."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return ast.unparse(tree)
