"""Visitors of the shared service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from service.pages.browsing import Visitor
from service.running import Running

_numbers = count(1)


@pytest.fixture
def queue(service: Running) -> str:
    """A queue of the test's own."""
    return service.queue(f"q-{next(_numbers)}")


@pytest.fixture
def visit(service: Running) -> Iterator[Callable[..., Visitor]]:
    """Visitors, signed in with a key if one is given."""
    visitors: list[Visitor] = []

    def visit(key: str | None = None, area: str = "/work") -> Visitor:
        visitors.append(Visitor(service))
        if key is not None:
            visitors[-1].sign_in(key, area)
        return visitors[-1]

    yield visit
    for visitor in visitors:
        visitor.close()
