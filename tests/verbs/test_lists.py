"""Lists of names: all of them come in pages, by one rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.errors import InvalidRequest
from tessera.limits import PAGE_MAX
from tessera.models import ListNames
from tessera.surface import SURFACE

Maker = Callable[[Bench, int], str]


def _queue(bench: Bench, n: int) -> str:
    return bench.store.define_queue(f"list-{n:04d}").name


def _workspace(bench: Bench, n: int) -> str:
    return bench.store.define_workspace(f"ws_{n:04d}", "W").workspace_id


def _key(bench: Bench, n: int) -> str:
    return bench.store.issue_key(name=str(n)).grant.key_id


MAKERS: dict[str, Maker] = {
    "queues": _queue,
    "keys": _key,
    "stores": lambda bench, n: bench.store.put_record(f"list-{n:04d}", "k", n).store,
    "feeds": lambda bench, n: bench.store.publish_feed(f"list-{n:04d}", n).feed,
    "buckets": lambda bench, n: bench.store.define_bucket(f"list-{n:04d}").name,
    "workspaces": _workspace,
}
IDS = {"queues": "name", "keys": "key_id", "feeds": "feed", "buckets": "name", "workspaces": "workspace_id"}


def _names(verb: str, answer: Any) -> list[str]:
    return [getattr(one, IDS[verb]) if verb in IDS else one for one in answer]


def test_every_list_of_names_is_here() -> None:
    """Each verb that lists names has its maker in these tests, and its page in the library."""
    assert {row.name for row in SURFACE.values() if row.ask is ListNames} == MAKERS.keys()


def test_pages_have_their_bounds(bench: Bench) -> None:
    """A page of nothing, or of more than a page may have, is refused."""
    refused(bench, "invalid_request", bench.store.queues_page, limit=0)
    refused(bench, "invalid_request", bench.store.keys_page, limit=PAGE_MAX + 1)
    refused(bench, "invalid_request", bench.store.workspaces_page, limit=0)


@pytest.mark.parametrize("verb", MAKERS)
def test_pages_hold_everything_once(bench: Bench, verb: str) -> None:
    """Pages of two follow each other by `next` to an end that says so, and hold what the whole list holds."""
    made = {MAKERS[verb](bench, n) for n in range(5)}
    page_of = getattr(bench.store, f"{verb}_page")

    found, after = [], None
    while True:
        page = page_of(limit=2, after=after)
        names = _names(verb, getattr(page, verb))
        assert 0 < len(names) <= 2
        found += names
        if page.next is None:
            break
        assert (len(names), page.next) == (2, names[-1])
        after = page.next

    assert found == sorted(set(found))
    assert made <= set(found)
    assert found == _names(verb, getattr(bench.store, verb)())
    assert page_of(limit=len(found)).next is None
    assert getattr(page_of(after=found[-1]), verb) == []


@pytest.mark.parametrize("verb", MAKERS)
def test_limits_of_a_page(bench: Bench, verb: str) -> None:
    """A page has 1 to 1,000 names, and 100 of them if nobody says how many."""
    for limit in (0, PAGE_MAX + 1):
        with pytest.raises(InvalidRequest, match="limit"):
            getattr(bench.store, f"{verb}_page")(limit=limit)
    for n in range(101):
        MAKERS[verb](bench, n)
    assert len(getattr(getattr(bench.store, f"{verb}_page")(), verb)) == 100


@pytest.mark.parametrize("verb", ["queues", "keys"])
def test_a_whole_list_is_longer_than_a_page(bench: Bench, verb: str) -> None:
    """The library's lists go on after the largest page, and keys come in the order they were made."""
    made = [MAKERS[verb](bench, n) for n in range(PAGE_MAX + 1)]

    assert [name for name in _names(verb, getattr(bench.store, verb)()) if name != "q"] == made


def test_a_page_of_what_is_in_sight(bench: Bench) -> None:
    """A page is filled with what exists for its reader, however much else lies between."""
    for n in range(6):
        queue = _queue(bench, n)
        workspace = bench.store.define_workspace(f"ws_{n}", "W").workspace_id
        if n % 2:
            bench.store.assign_queue(workspace, queue)
    plain = bench.store.as_key(bench.store.issue_key().key)
    inside = bench.store.as_key(
        bench.store.issue_key(scopes=["agent:runtime"], workspace_id="ws_3", queues=["list-0003"]).key
    )

    page = plain.queues_page(limit=2)
    assert (_names("queues", page.queues), page.next) == (["list-0000", "list-0002"], "list-0002")
    assert _names("queues", plain.queues_page(limit=2, after="list-0002").queues) == ["list-0004", "q"]
    assert [*_names("queues", inside.queues_page(limit=1).queues), inside.queues_page(limit=1).next] == [
        "list-0003",
        None,
    ]
    assert [one.workspace_id for one in inside.workspaces_page(limit=1).workspaces] == ["ws_3"]
    assert plain.workspaces_page().workspaces == []
