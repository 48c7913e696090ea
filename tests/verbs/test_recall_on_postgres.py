"""What is found by words on SQLite is found on PostgreSQL too: the same tests, on its own full text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from verbs import test_match_reflex as reflexes
from verbs import test_search_nouns as nouns
from verbs.bench import Bench

import tessera
from tessera.testing import World

test_a_scent = nouns.test_a_scent
test_the_latest_version_is_found = nouns.test_the_latest_version_is_found
test_where_to_look = nouns.test_where_to_look
test_all_words_before_any_before_beginnings = nouns.test_all_words_before_any_before_beginnings
test_a_title_counts_more_than_a_line = nouns.test_a_title_counts_more_than_a_line
test_keys_are_words_too = nouns.test_keys_are_words_too
test_bytes_that_are_no_text = nouns.test_bytes_that_are_no_text
test_large_records = nouns.test_large_records
test_any_text_is_a_query = nouns.test_any_text_is_a_query
test_a_text_is_found_by_any_of_its_words = nouns.test_a_text_is_found_by_any_of_its_words
shelf = nouns.shelf

test_an_exact_match = reflexes.test_an_exact_match
test_a_fuzzy_match = reflexes.test_a_fuzzy_match
test_joints_and_order_count_for_little = reflexes.test_joints_and_order_count_for_little
test_an_exact_match_among_many_alike = reflexes.test_an_exact_match_among_many_alike
test_the_latest_reflex_counts = reflexes.test_the_latest_version_counts
test_records_that_are_no_reflex = reflexes.test_records_that_are_no_reflex
test_scripts_without_spaces = reflexes.test_scripts_without_spaces
test_warnings = reflexes.test_warnings
test_a_lapse_warns_too = reflexes.test_a_lapse_warns_too


@pytest.fixture
def bench(dsn: str) -> Iterator[Bench]:
    """A new store on PostgreSQL with the queue `q`; in the end its index holds what its rows do."""
    world = World()
    bench = Bench(world, Path("none"), tessera.open(dsn, runtime=world.runtime()))
    bench.queue("q")
    yield bench
    assert bench.store.verify().findings == []
    bench.store.close()


def test_words_of_any_language(bench: Bench) -> None:
    """What is asked in a language finds the text of that language alone."""
    for name, text in nouns.TEXTS.items():
        bench.store.put_record("texts", name, {"body": text})
    for query, found in nouns.ASKED:
        assert nouns.refs(bench.store, query) == [f"texts/{found}"], query
