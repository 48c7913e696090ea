"""A package: its files, its graph, its facts together."""

from __future__ import annotations

from itertools import pairwise

import pytest

from examples.stdlib_swarm.package import files_of, graph, merge, module_of
from examples.stdlib_swarm.study import Facts, study


def facts(module: str, source: str) -> Facts:
    return study(source.encode(), module, is_package="." not in module)


def test_files_of_a_package() -> None:
    """The files come in order, relative to the library, and without tests."""
    files = files_of("json")

    assert "json/decoder.py" in files
    assert files == sorted(files)
    assert not any("/test" in file for file in files_of("unittest"))


def test_files_of_a_single_module() -> None:
    """A module that is one file is a package of one."""
    assert files_of("argparse") == ["argparse.py"]


@pytest.mark.parametrize("name", ["", "..", "../json", "/etc", "numpy", "sys", "json/tool"])
def test_nothing_outside_the_library(name: str) -> None:
    """A name that the interpreter does not list, or that has no source, has no files."""
    assert files_of(name) == []


@pytest.mark.parametrize(
    ("file", "module"),
    [
        ("json/decoder.py", ("json.decoder", False)),
        ("json/__init__.py", ("json", True)),
        ("ast.py", ("ast", False)),
    ],
)
def test_module_of(file: str, module: tuple[str, bool]) -> None:
    """A path gives a module's name, and says whether that is a package."""
    assert module_of(file) == module


def test_graph() -> None:
    """An imported name leads to the nearest module of the package; what lies outside is no edge."""
    modules = [
        facts("json", "from .decoder import JSONDecoder\nfrom . import encoder, nothing\nimport re"),
        facts("json.tool", "import json.decoder"),
    ]

    assert graph(modules, "json")["edges"] == [
        ["json", "json.decoder"], ["json", "json.encoder"], ["json.tool", "json.decoder"],
    ]  # fmt: skip


def test_merge() -> None:
    """Numbers add up, the longest is the longest of all, outside imports count once per module."""
    modules = [
        facts("json", '"""Doc."""\nimport os, os.path\n\ndef f():\n    return 1\n'),
        facts(
            "json.tool",
            "import os\nfrom . import decoder\n\ndef g(x):\n    if x:\n        return 1\n    return 2\n",
        ),
    ]
    package = merge("json", modules, [graph(modules, "json")], missing=1)

    assert (package["files"], package["lines"], package["functions"]) == (2, 12, 2)
    assert (package["public"], package["documented"]) == (4, 1)
    assert package["longest"] == {"name": "json.tool.g", "lines": 4, "complexity": 2}
    assert package["imports"] == {"os": 2}
    assert (package["edges"], package["circle"], package["missing"]) == (1, [], 1)


def test_circle() -> None:
    """Modules that import each other are named in the order in which each imports the next."""
    edges = [["a", "b"], ["b", "c"], ["c", "a"], ["a", "d"]]
    circle = merge("json", [], [{"edges": edges}])["circle"]

    assert circle[0] == circle[-1]
    assert set(circle) == {"a", "b", "c"}
    assert all([importer, imported] in edges for importer, imported in pairwise(circle))
