"""Documents of megabytes that mean harm: whoever reads them holds up nobody else for long."""

from __future__ import annotations

import json
import time

import pytest

from tessera.canonical import canonical
from tessera.errors import InvalidRequest
from tessera.service.requests import Headers, ask_of_body
from tessera.surface import SURFACE


@pytest.mark.parametrize(
    ("filling", "last", "reason"),
    [
        (b"12,", b"1e400", "a number larger than a double can hold"),
        (b"12,", b"9" * 5_000, "an integer beyond 2^53 - 1: write it as a string"),
        (b"[],", b"1", "more than 1048576 bytes of canonical JSON"),
        (b'{"a":""},', b"1", "more than 1048576 bytes of canonical JSON"),
    ],
)
def test_a_long_document_is_refused_no_slower_than_it_is_read(
    filling: bytes, last: bytes, reason: str
) -> None:
    """What is wrong with a document of megabytes is told without its path, in less time than Python takes to
    read it: nobody else is served meanwhile.
    """
    document = b'{"a": [%s%s]}' % (filling * ((2 << 20) // len(filling)), last)
    start = time.process_time()
    with pytest.raises(InvalidRequest) as raised:
        canonical(document, "brief", 1 << 20)
    between = time.process_time()
    json.loads(document, parse_int=str)
    assert raised.value.detail == f"brief: {reason}"
    assert between - start < time.process_time() - between


@pytest.mark.parametrize("filling", [b"{},", b"[],"])
def test_looking_for_names_given_twice_takes_no_longer_than_reading(filling: bytes) -> None:
    """A long body that may give a name twice is looked through in a fraction of the time in which Python
    would make something of it: nobody else is served meanwhile.
    """
    brief = b'{"kind": [%s{}]}' % (filling * ((1 << 20) // len(filling)))
    body = b'{"queue": "q", "kind": "k", "brief": %s}' % brief
    start = time.process_time()
    ask_of_body(SURFACE["enqueue"], {}, {}, Headers(()), body)
    between = time.process_time()
    json.loads(body, object_pairs_hook=list)
    assert between - start < (time.process_time() - between) / 3
