"""The page of cases and the tests of cases say the same."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
FILES = [
    path for folder in ("cases", "service", "chaos") for path in (HERE.parent / folder).glob("test_*.py")
]
PAGE = HERE.parents[1] / "docs" / "cases.md"


def by_row() -> dict[str, dict[str, str]]:
    """Row -> the files that test it, each with the docstrings of its tests of that row joined by lines."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (named := re.match(r"test_([a-z]\d\d)_", node.name)):
                row = named[1].upper()
                doc = ast.get_docstring(node) or ""
                found[row][path.name] = found[row].get(path.name, "") + doc.replace("\n", " ") + "\n"
    return found


def rows() -> list[tuple[str, set[str]]]:
    """Each row of the page: its name, and the files it names."""
    link = r"\[test_\w+\.py\]\(\.\./tests/(?:cases|service|chaos)/test_\w+\.py\)"
    lines = re.findall(
        rf"^\| ([A-Z]\d\d) \| .+? \| ({link}(?:, {link})*) \| .*\|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return [(row, set(re.findall(r"/(test_\w+\.py)\)", links))) for row, links in lines]


def test_every_row_is_tested_where_it_says() -> None:
    """Each row of the page is there once and its files have tests of it, and no test is of another row."""
    listed = [row for row, _ in rows()]
    assert sorted(listed) == sorted(set(listed))
    assert dict(rows()) == {row: set(files) for row, files in by_row().items()}


def test_every_test_says_which_row_it_is() -> None:
    """The docstring of each test of a case begins with its row and is a sentence."""
    for row, files in by_row().items():
        for docs in files.values():
            for doc in docs.splitlines():
                assert re.match(rf"{row}: [a-zA-Z].+\.$", doc.strip()), doc


def test_no_line_of_the_tables_is_left_out() -> None:
    """Every line that looks like a row is read as one: a typing error hides none."""
    looks_like = re.findall(r"^\| [A-Z]\d+ ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(looks_like) == len(rows()) == 132
