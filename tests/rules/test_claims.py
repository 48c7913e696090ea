"""Who may win what."""

from __future__ import annotations

import pytest

from tessera.rules.claims import eligible_roles, meets


@pytest.mark.parametrize(
    ("asked", "found"),
    [(None, {"a", "b"}), ([], set()), (["a"], {"a"}), (["c"], set()), (["b", "c", "b"], {"b"})],
)
def test_eligible_roles(asked: list[str] | None, found: set[str]) -> None:
    """An agent claims in the roles that it has and asks for; asking for none means all, for an empty list
    none.
    """
    assert eligible_roles(["a", "b"], asked) == found


def test_meets() -> None:
    """The role comes first, then every capability that is needed."""
    assert meets("a", [], {"a"}, []) is None
    assert meets("a", ["x"], {"a"}, ["x", "y"]) is None
    assert meets("a", ["x", "z"], {"a"}, ["x", "y"]) == "missing_capability"
    assert meets("b", ["x"], {"a"}, ["x"]) == "role_not_assigned"
