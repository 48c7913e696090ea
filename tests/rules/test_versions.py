"""Compare-and-set on a version's number."""

from __future__ import annotations

import pytest

from tessera.errors import VersionConflict
from tessera.rules import versions


def test_the_next_version() -> None:
    """The first is 1, each other is one more than the one that its writer expects."""
    assert versions.following(None, None, "record") == 1
    assert versions.following(7, 7, "record") == 8


@pytest.mark.parametrize(
    ("current", "expected", "words"),
    [(None, 1, "the record does not exist"), (2, None, "the record is at version 2"), (2, 3, "at version 2")],
)
def test_another_version(current: int | None, expected: int | None, words: str) -> None:
    """Any other is a conflict that says which version there is."""
    with pytest.raises(VersionConflict, match=words) as caught:
        versions.following(current, expected, "record")
    assert caught.value.extra == {"current_version": current}
