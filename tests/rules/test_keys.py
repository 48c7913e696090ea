"""Keys that begin with a prefix, as a range."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tessera.names import KEY_PATTERN
from tessera.rules.keys import beyond

KEYS = st.from_regex(KEY_PATTERN, fullmatch=True)


@given(KEYS, st.text(max_size=5) | KEYS)
def test_a_range_holds_exactly_the_keys_with_the_prefix(key: str, prefix: str) -> None:
    """A key is in the range of a prefix, by bytes, if and only if it begins with the prefix."""
    try:
        first, after = prefix.encode(), beyond(prefix).encode()
    except UnicodeEncodeError:  # no text of the database's
        return
    assert (first <= key.encode() < after) == key.startswith(prefix)
    half = key[: len(key) // 2]
    assert half <= key < beyond(half)
