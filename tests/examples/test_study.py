"""One source file's facts."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from examples.stdlib_swarm.study import complexity, imports, study

SOURCE = b'''"""A module."""
import os.path
from collections import abc


class Shelf:
    """A shelf."""

    def put(self, book):
        """Put a book."""
        def _check(book):
            return book is not None
        return _check(book)

    def _dust(self):
        pass


async def open_at(hour, day=1):
    if hour < 9 or day > 5 and day < 8:
        return False
    return True


class _Hidden:
    def seen_by_nobody(self):
        pass
'''


def test_facts_of_a_module() -> None:
    """Lines, functions and classes are counted; public names with a docstring are told from those without."""
    facts = study(SOURCE, "library")

    assert facts["lines"] == 27
    assert facts["functions"] == 5
    assert facts["classes"] == 2
    assert facts["public"] == 4  # the module, Shelf, Shelf.put, open_at
    assert facts["documented"] == 3
    assert facts["longest"] == {"name": "library.Shelf.put", "lines": 5, "complexity": 1}
    assert facts["hardest"] == {"name": "library.open_at", "lines": 4, "complexity": 4}
    assert facts["imports"] == ["collections", "os.path"]
    assert facts["problem"] is None


def test_empty_module() -> None:
    """A file without a line is a module without a docstring."""
    facts = study(b"", "empty")

    assert (facts["lines"], facts["public"], facts["documented"]) == (0, 1, 0)
    assert facts["longest"] is None
    assert facts["hardest"] is None


@pytest.mark.parametrize(
    ("source", "problem"),
    [(b"print 'old'\n", "SyntaxError"), (b"\xff\n", "SyntaxError"), (b"def f(:\n", "SyntaxError")],
)
def test_what_is_no_python_is_a_fact(source: bytes, problem: str) -> None:
    """A file that cannot be parsed is reported, with its lines, and fails nothing."""
    facts = study(source, "odd")

    assert (facts["problem"], facts["lines"], facts["public"]) == (problem, 1, 0)


def test_source_in_another_encoding() -> None:
    """A coding line is honoured, since files are read as bytes."""
    assert study("# coding: latin-1\nä = 'ö'\n".encode("latin-1"), "old")["problem"] is None


@pytest.mark.parametrize(
    ("body", "ways"),
    [
        ("return x", 1),
        ("if x: pass", 2),
        ("if x: pass\nelif y: pass\nelse: pass", 3),
        ("for a in x: pass", 2),
        ("while x: pass", 2),
        ("try: pass\nexcept A: pass\nexcept B: pass", 3),
        ("return a and b and c", 3),
        ("return a if b else c", 2),
        ("return [a for a in b if a]", 2),
        ("match x:\n    case 1: pass\n    case _: pass", 3),
        ("with x: pass", 1),
    ],
)
def test_complexity(body: str, ways: int) -> None:
    """One way through, and one more for each branch."""
    assert complexity(ast.parse("def f():\n" + textwrap.indent(body, "    ")).body[0]) == ways


@pytest.mark.parametrize(
    ("source", "module", "is_package", "names"),
    [
        ("import a, b.c", "m", False, ["a", "b.c"]),
        ("from a import b, c", "m", False, ["a"]),
        ("from . import x", "p.q", False, ["p.x"]),
        ("from .x import y", "p.q", False, ["p.x.y"]),
        ("from . import x", "p", True, ["p.x"]),
        ("from .. import x", "p.q.r", False, ["p.x"]),
        ("from ..x import *", "p.q", True, ["p.x"]),
        ("from p.q import z", "p.r", False, ["p.q.z"]),
        ("from .x import *", "p.q", False, ["p.x"]),
        ("from __future__ import annotations", "m", False, []),
        ("def f():\n    import late", "m", False, ["late"]),
    ],
)
def test_imports(source: str, module: str, is_package: bool, names: list[str]) -> None:
    """Relative imports become absolute; inside the own package the imported name is kept too."""
    assert imports(ast.parse(source), module, is_package) == names


def test_a_real_module() -> None:
    """The standard library's own `json.decoder` reads as it should."""
    import json.decoder

    facts = study(Path(json.decoder.__file__).read_bytes(), "json.decoder")

    assert "json.scanner" in facts["imports"]
    assert facts["classes"] == 2
    assert facts["problem"] is None
