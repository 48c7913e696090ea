"""Every package's facts merged into a few ranked lists. Pure: facts in, lists out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from examples.stdlib_swarm.package import Package
from examples.stdlib_swarm.study import Facts, Function

TOP: Final = 12  # rows in a list
PUBLIC_MIN: Final = 10  # a module with fewer public names says little about documentation


class Row(NamedTuple):
    """One bar: what it is of, how long it is, what is written beside it."""

    label: str
    size: float
    shown: str


class Section(NamedTuple):
    """A ranked list with a sentence that says how to read it."""

    title: str
    note: str
    rows: list[Row]


class Findings(NamedTuple):
    """All that a page shows."""

    figures: dict[str, str]
    sections: list[Section]
    remarks: list[str]


def findings(packages: Sequence[Package]) -> Findings:
    """Figures, lists and remarks from the packages' facts."""
    packages = sorted(packages, key=lambda package: package["package"])
    modules = [facts for package in packages for facts in package["modules"]]
    return Findings(_figures(packages), _sections(packages, modules), _remarks(packages, modules))


def _figures(packages: Sequence[Package]) -> dict[str, str]:
    public = sum(package["public"] for package in packages)
    documented = sum(package["documented"] for package in packages)
    return {
        "packages": f"{len(packages):,}",
        "modules": f"{sum(package['files'] for package in packages):,}",
        "lines": f"{sum(package['lines'] for package in packages):,}",
        "functions": f"{sum(package['functions'] for package in packages):,}",
        "classes": f"{sum(package['classes'] for package in packages):,}",
        "documented": _percent(documented, public),
    }


def _sections(packages: Sequence[Package], modules: Sequence[Facts]) -> list[Section]:
    return [
        Section("Packages by size", "Lines of source.", _by_size(packages)),
        Section("Biggest modules", "Lines of source.", _biggest(modules)),
        Section(
            "Packages by documentation",
            "How many of their public modules, classes and functions have a docstring, fewest first.",
            _documentation(
                (package["package"], package["documented"], package["public"]) for package in packages
            ),
        ),
        Section(
            "Least documented modules",
            f"Of the modules with at least {PUBLIC_MIN} public names.",
            _documentation(
                (facts["module"], facts["documented"], facts["public"])
                for facts in modules
                if facts["public"] >= PUBLIC_MIN
            )[:TOP],
        ),
        Section(
            "Most imported", "How many of the studied modules outside it import it.", _imported(packages)
        ),
        Section(
            "Longest functions",
            "Lines, from each module its longest.",
            _functions((facts["longest"] for facts in modules), lambda function: function["lines"], "lines"),
        ),
        Section(
            "Hardest functions",
            "Branches plus one, an estimate of McCabe's number, from each module its highest.",
            _functions(
                (facts["hardest"] for facts in modules), lambda function: function["complexity"], "ways"
            ),
        ),
    ]


def _by_size(packages: Iterable[Package]) -> list[Row]:
    rows = [
        Row(package["package"], package["lines"], f"{package['lines']:,} in {_files(package['files'])}")
        for package in packages
    ]
    return sorted(rows, key=lambda row: -row.size)


def _biggest(modules: Iterable[Facts]) -> list[Row]:
    rows = [Row(facts["module"], facts["lines"], f"{facts['lines']:,}") for facts in modules]
    return sorted(rows, key=lambda row: -row.size)[:TOP]


def _documentation(counted: Iterable[tuple[str, int, int]]) -> list[Row]:
    """The smallest share first; of equal shares, the one that owes more."""
    fewest_first = sorted(
        ((documented / public, -public, name, documented) for name, documented, public in counted if public)
    )
    return [
        Row(name, share, f"{_percent(documented, -owing)} of {-owing:,}")
        for share, owing, name, documented in fewest_first
    ]


def _imported(packages: Iterable[Package]) -> list[Row]:
    importers: Counter[str] = Counter()
    for package in packages:
        importers.update(package["imports"])
    return [Row(name, count, f"{count:,}") for name, count in importers.most_common(TOP)]


def _functions(
    functions: Iterable[Function | None], measure: Callable[[Function], int], unit: str
) -> list[Row]:
    known = sorted((function for function in functions if function), key=measure, reverse=True)
    return [Row(one["name"], measure(one), f"{measure(one):,} {unit}") for one in known[:TOP]]


def _remarks(packages: Iterable[Package], modules: Iterable[Facts]) -> list[str]:
    """What the lists do not show: circles, and what could not be studied."""
    remarks = []
    for package in packages:
        name = package["package"]
        if package["refused"] is not None:
            remarks.append(f"{name} was not studied, as the reviewer wished: {package['refused']}")
        if package["missing"]:
            remarks.append(f"{name}: {_files(package['missing'])} could not be studied")
        if package["circle"]:
            remarks.append(f"{name} imports itself in a circle: {' → '.join(package['circle'])}")
    remarks += [
        f"{facts['module']} is no Python: {facts['problem']}" for facts in modules if facts["problem"]
    ]
    return remarks


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _percent(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)} %" if whole else "none"
