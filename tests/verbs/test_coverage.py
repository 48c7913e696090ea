"""What the tests of verbs cover: every verb, and every code it can be refused with."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from verbs.refusals import ELSEWHERE, EVERY_VERB, REFUSALS

from tessera.errors import REGISTRY
from tessera.surface import SURFACE

VERBS = ()
HERE = Path(__file__).parent
HELPERS = {"refused", "refused_after_lapse"}
# Methods of the library that are another name of a verb.
SAME = {"claim_or_wait": "claim", "claim_batch_or_wait": "claim_batch"}


@cache
def trees() -> dict[str, ast.Module]:
    """Every test file, parsed."""
    return {path.name: ast.parse(path.read_text(encoding="utf-8")) for path in HERE.glob("test_*.py")}


@cache
def refusals() -> set[tuple[str, str]]:
    """Every (verb, code) that some test provokes by `refused(bench, "code", store.verb, …)`."""
    found = set()
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HELPERS:
                code, verb = node.args[1:3]
                name = verb.attr if isinstance(verb, ast.Attribute) else "any"
                assert isinstance(code, ast.Constant), "a code is written out where it is expected"
                found.add((SAME.get(name, name.removesuffix("_page")), code.value))
    return found


def test_every_verb_has_its_file() -> None:
    """Each verb of the surface is claimed by exactly one test file, whose `VERBS` says so."""
    claimed: list[str] = []
    for tree in trees().values():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "VERBS":
                claimed += ast.literal_eval(node.value) if isinstance(node.value, ast.Tuple) else []
    assert sorted(claimed) == sorted(SURFACE)


def test_every_refusal_of_a_verb_is_provoked() -> None:
    """Every code in the table of refusals is provoked on its verb by a test, and no other code is."""
    for verb in SURFACE:
        provoked = {code for name, code in refusals() if name == verb}
        assert provoked - EVERY_VERB == REFUSALS[verb], verb


def test_every_code_is_reached_or_belongs_elsewhere() -> None:
    """The codes of the product are those that the queue gives and those of its other parts, without a gap."""
    assert {code for _, code in refusals()} == EVERY_VERB | set().union(*REFUSALS.values())
    assert REGISTRY.keys() - ELSEWHERE == {code for _, code in refusals()}
