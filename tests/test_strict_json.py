"""The library's arguments as JSON: nothing is coerced. And values of ours as JSON text."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum

import pytest
from msgspec import Raw

from tessera.canonical import canonical, json_text, strict_json
from tessera.errors import InvalidRequest

NAN = float("nan")


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Plain(Enum):
    ONE = 1


@dataclass
class Point:
    x: int = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, b"null"),
        ({"b": [1, 2.5, True], "a": "é\u2028"}, '{"a":"é\u2028","b":[1,2.5,true]}'.encode()),
        ((1, ("x",), {"a": ()}), b'[1,["x"],{"a":[]}]'),
        ({"z": (1,), "a": 2}, b'{"a":2,"z":[1]}'),
        (OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        ([Colour.RED, Level.HIGH], b'["red",3]'),
        ({Colour.RED: 1}, b'{"red":1}'),
        (2**64, b"18446744073709551616"),
        (10**400, b"1" + b"0" * 400),
        ({"": [[], {}, ""]}, b'{"":[[],{},""]}'),
        ("\x00\x7f\U0001f600", '"\\u0000\x7f\U0001f600"'.encode()),
    ],
)
def test_strict_json_writes_what_json_can_say(value: object, expected: bytes) -> None:
    """None, booleans, numbers, strings, lists, tuples and dictionaries come out as compact UTF-8."""
    assert strict_json(value) == expected


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"brief": {"n": NAN}}, "brief.n"),
        ((math.inf,), "[0]"),
        ({"a": [-math.inf]}, "a[0]"),
        ({"a": {1, 2}}, "a"),
        ({"a": b"x"}, "a"),
        ({"a": bytearray(b"x")}, "a"),
        (["\ud800"], "[0]"),
        ({"\udc00": 1}, '["\\udc00"]'),
        ({1: "a"}, "value"),
        ({"a": [{None: 1}]}, "a[0]"),
        ({"a": {True: 1}}, "a"),
        ({"a": {1.5: 1}}, "a"),
        ({"a": ({2: 1},)}, "a[0]"),
        ({1: "a", "1": "b"}, "value"),
        ({"at": datetime(2025, 1, 1, tzinfo=UTC)}, "at"),
        ({"cost": Decimal("1.5")}, "cost"),
        (Plain.ONE, "value"),
        (Point(), "value"),
        (Raw(b"1"), "value"),
        (object(), "value"),
    ],
)
def test_strict_json_refuses_what_json_has_no_word_for(value: object, path: str) -> None:
    """Nothing is coerced: what JSON cannot say is an invalid request that names the path."""
    with pytest.raises(InvalidRequest) as caught:
        strict_json(value)
    assert caught.value.detail.startswith(f"{path}: ")
    assert caught.value.detail.encode("ascii")


def test_strict_json_names_the_path_below_its_place() -> None:
    """The caller may say what the value is called."""
    with pytest.raises(InvalidRequest, match=r"^output\.n: "):
        strict_json({"n": NAN}, "output")


def test_strict_json_refuses_more_digits_than_python_prints() -> None:
    """An integer of 4300 digits is the longest; one more digit is an invalid request."""
    assert strict_json([10**4300 - 1]) == b"[" + b"9" * 4300 + b"]"
    with pytest.raises(InvalidRequest, match=r"^\[0\]: an integer of more than 4300 digits"):
        strict_json([10**4300])


def test_strict_json_refuses_circles_and_towers() -> None:
    """A value inside itself, or nested beyond what Python can follow, is an invalid request."""
    circle: list[object] = []
    circle.append({"again": (circle,)})
    tower: object = 1
    for _ in range(5_000):
        tower = [tower]
    for value in (circle, tower):
        with pytest.raises(InvalidRequest, match="nested too deeply"):
            strict_json(value)


def test_strict_json_leaves_large_integers_to_canonical() -> None:
    """A large integer is JSON, so the arguments may hold it; the canonical form is what refuses it."""
    with pytest.raises(InvalidRequest, match=r"^output\.n\[0\]: "):
        canonical(strict_json({"n": [2**53]}), "output", 99)


def test_json_text_is_compact_and_sorted() -> None:
    """A value of ours has one text, with sorted keys and no spaces."""
    assert json_text({"b": [1, "é"], "a": {"d": None, "c": True}}) == '{"a":{"c":true,"d":null},"b":[1,"é"]}'
