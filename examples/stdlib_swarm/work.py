"""What is done for each kind of task. Pure but for reading source files: a lease in, what to do with it out.

    package   asks first if it was told to; splits into its files; merges what they found
    file      one source file's facts
    imports   who imports whom among the files studied just before
    report    all packages on one page

`tessera.Worker` carries the answer out, so nothing here knows of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from examples.stdlib_swarm.package import LIBRARY, files_of, graph, merge, module_of
from examples.stdlib_swarm.report import report
from examples.stdlib_swarm.study import study
from tessera.models import Lease, Outcome
from tessera.worker import Park, Split

WAVE: Final = 99  # files per split: a split has at most 100 children, and one of them follows the files

APPROVAL: Final = {  # what the reviewer's answer must look like; the store refuses any other
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "note": {"type": "string", "maxLength": 200}},
    "required": ["approved"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Done:
    """Hand this in. `lines` is how much was read for it, if anything."""

    output: Any
    lines: int | None = None


Act = Done | Split | Park


def act(lease: Lease) -> Act:
    """What to do with a lease. An exception is a failed attempt; the queue's settings say what follows."""
    return ACTS[lease.kind](lease)


def _package(lease: Lease) -> Act:
    """The same task comes here several times: fresh, after its park, after each of its splits."""
    package = lease.brief["package"]
    files = files_of(package)
    if lease.brief["ask_first"]:
        if not lease.inputs:
            question = f"{package} is large: {len(files)} files. Shall they all be studied?"
            return Park(question, input_schema=APPROVAL)
        answer = lease.inputs[-1].input
        if not answer["approved"]:
            return Done({**merge(package, [], []), "refused": answer.get("note", "no reason given")})

    studied = [child for child in lease.children if child.kind == "file"]
    if rest := files[len(studied) :]:
        return Split(_wave(package, rest[:WAVE], stumble_on=lease.brief["stumble_on"]))
    found = _outputs(lease.children, "file")
    graphs = _outputs(lease.children, "imports")
    return Done(merge(package, found, graphs, missing=len(studied) - len(found)))


def _wave(package: str, files: list[str], stumble_on: str | None) -> list[dict[str, Any]]:
    """One child per file, and one that starts when these have ended."""
    children: list[dict[str, Any]] = [
        {"kind": "file", "brief": {"file": file, "stumble": file == stumble_on}} for file in files
    ]
    after = list(range(len(files)))
    return [*children, {"kind": "imports", "brief": {"package": package}, "after": after}]


def _file(lease: Lease) -> Act:
    file = lease.brief["file"]
    if lease.brief["stumble"] and lease.failures == 0:
        raise OSError(f"{file} could not be read just now (the demo makes one first attempt fail)")
    facts = study((LIBRARY / file).read_bytes(), *module_of(file))
    return Done(facts, lines=facts["lines"])


def _imports(lease: Lease) -> Act:
    """A child with `after` sees the children it waited for as its dependencies."""
    return Done(graph(_outputs(lease.dependencies, "file"), lease.brief["package"]))


def _report(lease: Lease) -> Act:
    return Done(report(_outputs(lease.dependencies, "package")))


def _outputs(outcomes: Iterable[Outcome], kind: str) -> list[Any]:
    """What succeeded. A dead child or dependency has no output, and the work goes on without it. (Outputs too
    large for one lease are not carried either; the facts of the whole library stay far below that.)
    """
    return [one.output for one in outcomes if one.kind == kind and one.output is not None]


ACTS: Final[dict[str, Callable[[Lease], Act]]] = {
    "package": _package,
    "file": _file,
    "imports": _imports,
    "report": _report,
}
