"""A package of the standard library: its files, their facts together, how they import each other."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final, Literal, TypedDict

from examples.stdlib_swarm.study import Facts, Function

LIBRARY: Final = Path(sysconfig.get_path("stdlib"))
TESTS: Final = frozenset({"test", "tests", "idle_test"})  # folders that hold a package's own tests


class Graph(TypedDict):
    """Who imports whom among some modules of a package."""

    edges: list[list[str]]  # [importer, imported]


class Package(TypedDict):
    """What is known of a package."""

    package: str
    files: int
    lines: int
    functions: int
    classes: int
    public: int
    documented: int
    longest: Function | None
    hardest: Function | None
    modules: list[Facts]  # without their imports, which are summed up below
    imports: dict[str, int]  # what it imports from outside -> how many of its modules do
    edges: int
    circle: list[str]
    missing: int  # files whose study did not succeed
    refused: str | None  # the reviewer's word, if the package was not to be studied


def files_of(package: str) -> list[str]:
    """The package's source files, relative to the library, in order; none when this machine has none. Its
    tests are left out: many machines lack them.

    Names are checked against the interpreter's own list, so a brief can never lead outside the library.
    """
    if package not in sys.stdlib_module_names:
        return []
    folder, single = LIBRARY / package, LIBRARY / f"{package}.py"
    found = folder.rglob("*.py") if folder.is_dir() else [single] if single.is_file() else []
    files = (path.relative_to(LIBRARY) for path in found)
    return sorted(file.as_posix() for file in files if TESTS.isdisjoint(file.parts[1:]))


def module_of(file: str) -> tuple[str, bool]:
    """The module that a file holds, and whether that is a package."""
    parts = file.removesuffix(".py").split("/")
    is_package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if is_package else parts), is_package


def graph(modules: Iterable[Facts], package: str) -> Graph:
    """Who imports whom inside a package."""
    known = {module_of(file)[0] for file in files_of(package)}
    edges: set[tuple[str, str]] = set()
    for facts in modules:
        inside = {_nearest(name, known) for name in facts["imports"]}
        edges.update((facts["module"], name) for name in inside if name and name != facts["module"])
    return Graph(edges=[list(edge) for edge in sorted(edges)])


def merge(package: str, modules: Sequence[Facts], graphs: Sequence[Graph], missing: int = 0) -> Package:
    """A package's facts from those of its modules."""
    edges = sorted({(start, end) for graph in graphs for start, end in graph["edges"]})
    outside: dict[str, int] = {}
    for facts in modules:
        for name in {name.split(".")[0] for name in facts["imports"]} - {package}:
            outside[name] = outside.get(name, 0) + 1
    return Package(
        package=package,
        files=len(modules),
        lines=sum(facts["lines"] for facts in modules),
        functions=sum(facts["functions"] for facts in modules),
        classes=sum(facts["classes"] for facts in modules),
        public=sum(facts["public"] for facts in modules),
        documented=sum(facts["documented"] for facts in modules),
        longest=max(_known(modules, "longest"), key=lambda function: function["lines"], default=None),
        hardest=max(_known(modules, "hardest"), key=lambda function: function["complexity"], default=None),
        modules=[{**facts, "imports": []} for facts in modules],
        imports=outside,
        edges=len(edges),
        circle=_circle(edges),
        missing=missing,
        refused=None,
    )


def _known(modules: Iterable[Facts], which: Literal["longest", "hardest"]) -> list[Function]:
    return [function for facts in modules if (function := facts[which]) is not None]


def _nearest(name: str, known: set[str]) -> str:
    """The module that an imported name lies in: the name itself, or what is left of it up to some dot."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def _circle(edges: Sequence[tuple[str, str]]) -> list[str]:
    """Modules of which each imports the next, the last being the first again; none if there is no circle."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for start, end in edges:
        sorter.add(start, end)
    try:
        sorter.prepare()
    except CycleError as found:
        return [str(name) for name in reversed(found.args[1])]  # it lists the imported first
    return []
