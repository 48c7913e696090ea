"""Which bytes a Range header asks for."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tessera.errors import RangeNotSatisfiable
from tessera.rules.ranges import chosen, header_for

REFUSED = "refused"


def outcome(header: str | None, size: int) -> object:
    """What the rule says, a refusal as a word."""
    try:
        return chosen(header, size)
    except RangeNotSatisfiable as error:
        refusal = error
    assert refusal.extra == {"size": size}
    return REFUSED


@pytest.mark.parametrize(
    ("header", "first_and_length"),
    [
        ("bytes=0-9", (0, 10)), ("bytes=0-", (0, 10)), ("bytes=0-0", (0, 1)), ("bytes=9-9", (9, 1)),
        ("bytes=9-", (9, 1)), ("bytes=3-5", (3, 3)), ("bytes=0-10", (0, 10)), ("bytes=5-999", (5, 5)),
        ("bytes=-1", (9, 1)), ("bytes=-10", (0, 10)), ("bytes=-11", (0, 10)), ("bytes=-" + "9" * 20, (0, 10)),
        ("BYTES=0-4", (0, 5)), ("Bytes=0-4", (0, 5)), ("bytes=00-04", (0, 5)),
        ("bytes=" + "0" * 9_999 + "-", (0, 10)),
        ("bytes=10-", REFUSED), ("bytes=10-10", REFUSED), ("bytes=-0", REFUSED), ("bytes=-00", REFUSED),
        ("bytes=" + "9" * 100_000 + "-", REFUSED), ("bytes=0-" + "9" * 100_000, (0, 10)),
        ("bytes=5-4", None), ("bytes=99-98", None), ("bytes=1" + "0" * 30 + "-1", None),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_one_range_of_ten_bytes(header: str, first_and_length: object) -> None:
    """`a-b`, `a-` and `-n` give first byte and length, cut at the end; none in range is refused; a range
    that ends before it begins is ignored.
    """
    assert outcome(header, 10) == first_and_length


@pytest.mark.parametrize(
    "header",
    [
        None, "", "invalid", "bytes", "bytes=", "bytes=-", "bytes=--1", "bytes=a-b", "items=0-5",
        "bytes=0-5x", "bytes = 0-4", "bytes =0-4", "bytes= 0-4", "bytes=0 -4", "bytes=0- 4", " bytes=0-4",
        "bytes=0-4 ", "bytes=0-4\n", "bytes=\u0660-\u0664", "bytes=0-\u0664", "bytes=-\u0664",
        "bytes=+1-2", "bytes=0x1-2", "bytes=1_0-", "bytes=1.0-", "bytes:0-4",
        "bytes=0-1,3-4", "bytes=0-1,", ",bytes=0-1", "bytes=0-4, bytes=0-4", "bytes=0-0,-1", "none=0-4",
        "bytes=0-4;bytes=0-4", "bytes=" + ",".join(f"{n}-{n}" for n in range(10_000)),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_what_is_ignored(header: str | None) -> None:
    """Another unit, another form, several ranges: the whole is meant, of any size."""
    assert [outcome(header, size) for size in (0, 1, 10)] == [None] * 3


def test_nothing_has_no_ranges() -> None:
    """Of no bytes there is none to begin at; the last ones of them are all there are."""
    assert [outcome(header, 0) for header in ("bytes=0-", "bytes=0-0", "bytes=-0")] == [REFUSED] * 3
    assert outcome("bytes=-5", 0) is None


def test_long_headers_cost_little() -> None:
    """No header of 64 KiB takes more than 50 ms, whatever is in it."""
    hostile = [
        "9" * 65_000,
        "0" * 65_000,
        "0-0," * 16_000,
        "-" * 65_000,
        "=" * 65_000,
        "1-" * 32_000,
        "\x00" * 65_000,
    ]
    for text in hostile:
        for header in (f"bytes={text}", f"bytes={text}-", f"bytes=-{text}", f"bytes=1-{text}", text):
            start = time.process_time()
            outcome(header, 10)
            assert time.process_time() - start < 0.05


NUMBERS = st.integers(0, 40) | st.integers(0, 10**25)
SPECS = st.one_of(
    st.tuples(NUMBERS, NUMBERS).map("{0[0]}-{0[1]}".format),
    NUMBERS.map("{}-".format),
    NUMBERS.map("-{}".format),
    st.text(st.sampled_from("0123456789-, =bytes\t\u0664"), max_size=12),
)
HEADERS = st.tuples(st.sampled_from(["bytes=", "BYTES=", "byte=", "bytes", ""]), SPECS).map("".join)


@given(HEADERS, st.integers(0, 40))
@example("bytes=-99", 0)
def test_any_header_against_the_words_of_the_rfc(header: str, size: int) -> None:
    """An oracle that lists the bytes one by one says the same of any header."""
    assert outcome(header, size) == _by_listing(header, size)


@given(st.text(max_size=40), st.integers(0, 100))
def test_any_text_is_answered(header: str, size: int) -> None:
    """No text breaks the rule, and what it gives lies within the bytes there are."""
    answer = outcome(header, size)
    if isinstance(answer, tuple):
        first, length = answer
        assert 0 <= first < first + length <= size


@given(st.binary(max_size=30), st.none() | st.integers(-40, 40), st.none() | st.integers(-40, 40))
def test_slices_as_python_writes_them(data: bytes, start: int | None, stop: int | None) -> None:
    """A slice that has a header asks by it for exactly the bytes that Python's slice gives."""
    try:
        header = header_for(start, stop)
    except ValueError:
        assert (start or 0) < 0 if stop is None else (start or 0) < 0 or stop <= (start or 0)
        return
    part = outcome(header, len(data))
    if part == REFUSED:
        assert data[start:stop] == b""
        return
    first, length = part if isinstance(part, tuple) else (0, len(data))
    assert data[first : first + length] == data[start:stop]


def _by_listing(header: str, size: int) -> object:
    unit, separator, spec = header.partition("=")
    first, dash, last = spec.partition("-")
    if unit.lower() != "bytes" or not separator or not dash:
        return None
    if not all(char in "0123456789" for char in first + last) or not first + last:
        return None
    everything = range(size)
    if first and last and int(last) < int(first):
        return None
    if first:
        asked = [n for n in everything if int(first) <= n and (not last or n <= int(last))]
    else:
        asked = [n for n in everything if n >= size - int(last)]
        if size == 0 and int(last):
            return None
    return (asked[0], len(asked)) if asked else REFUSED
