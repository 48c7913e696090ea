"""Words of any language, scents that fit, and how alike two texts are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.limits import SCENT_TOKENS_MAX, TITLE_BYTES_MAX, WORDS_PER_QUERY_MAX
from tessera.rules import reflexes, scents, words
from tessera.rules.documents import cut
from tessera.rules.reflexes import ALIKE_MIN, likeness
from tessera.rules.words import folded


def asked(query: str) -> list[str]:
    """What the index is asked for."""
    return [f"{one.asked}{'*' if one.begins else ''}" for one in words.phrases(query)]


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("rotate the  Keys", ["rotate", "the", "keys"]),
        ("東京都", ["東京 京都"]),
        ("東京のserver", ["東京 京の", "server"]),
        ("都", ["都*"]),
        ("ภาษาไทย", ["ภา าษ ษา าไ ไท ทย"]),
        ("\uff46\uff55\uff4c\uff4c ｶﾀｶﾅ", ["full", "カタ タカ カナ"]),
        ("a-b_c/d", ["a-b_c/d"]),
        ("same Same SAME", ["same"]),
        ('" * ( ) + - ^ : {} %_', []),
        ("NEAR(a b) OR c*", ["near(a", "b)", "or", "c*"]),
        ("nul\x00byte", ["nul", "byte"]),
        ("", []),
    ],
)
def test_what_a_query_asks_for(query: str, phrases: list[str]) -> None:
    """Words where they are separated, runs of pairs where they are not; nothing is an operator."""
    assert asked(query) == phrases


def test_what_will_do() -> None:
    """Where any of it will do, a run without spaces falls into its pairs, and what words are written together
    also into its words, but for single letters; a word stays whole.
    """
    loose = words.loosened(words.phrases("red 東京都 都"))
    assert [(one.asked, one.begins) for one in loose] == [
        ("red", False), ("東京", False), ("京都", False), ("都", True)
    ]  # fmt: skip
    loose = words.loosened(words.phrases("src/queue.py:12 (keys a-b title:keys"))
    assert [one.asked for one in loose] == [
        "src/queue.py:12", "src", "queue", "py", "12", "(keys", "a-b", "title:keys", "title", "keys"
    ]  # fmt: skip
    assert len(words.loosened(words.phrases("東京都庁" * 1_000))) <= 48


def test_long_queries_ask_for_their_first_words() -> None:
    """A query asks for so many words and no more."""
    assert len(asked(" ".join(f"w{n}" for n in range(1_000)))) == WORDS_PER_QUERY_MAX


def test_what_the_index_takes() -> None:
    """Scripts without spaces are cut into pairs, the last character also stands alone."""
    assert words.indexable("plain text") == "plain text"
    assert words.indexable("Café 東京都, x").split() == ["cafe", "東京", "京都", "都", ",", "x"]


def test_folding() -> None:
    """Case, accents, width and spaces do not count."""
    assert (
        folded("  ÉCOLE\n Straße \uff57\uff49\uff44\uff45 ")
        == folded("ecole strasse wide")
        == "ecole strasse wide"
    )


def test_parts_of_misspelt_words() -> None:
    """Runs of three within each word, each once."""
    assert words.parts(["deploy", "ploy", "ab"]) == ["dep", "epl", "plo", "loy"]


TEXT = "\n".join(f"line {n} of many that say little" for n in range(100)) + "\nhere is the needle\nthe end"


def test_a_scent_has_the_first_lines_and_what_was_found() -> None:
    """A passage far down follows the lead; one that the lead shows anyway is not said twice."""
    deep = scents.scent("Title", "k", TEXT, words.phrases("needle"))
    assert deep.summary.startswith("line 0 of many")
    assert deep.summary.endswith("\n… here is the needle")
    shown = scents.scent("Title", "k", TEXT, words.phrases("line 2"))
    assert "…" not in shown.summary
    assert scents.scent("Needle", "k", "", words.phrases("needle")) == scents.Scent("", 2, 1.0)


def test_a_long_line_is_cut_around_what_was_found() -> None:
    """Of a line that is a page long the part with the word is shown."""
    line = "word " * 2_000 + "the needle is here " + "word " * 2_000
    found = scents.scent("T", "k", f"lead\n{line}", words.phrases("needle"))
    assert "the needle is here" in found.summary
    assert found.tokens <= SCENT_TOKENS_MAX


def test_the_share_counts_the_whole_noun() -> None:
    """Words in title, key and text count together, whatever punctuation joins them."""
    wanted = words.phrases("needle title payments-service absent")
    assert scents.scent("Title", "k", f"payments service\n{TEXT}", wanted).share == 0.75


@given(st.text(max_size=150), st.text(max_size=3_000), st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_every_scent_fits(title: str, text: str, query: str) -> None:
    """At most 150 tokens of four bytes, and a share from 0 to 1, of any texts and any query."""
    title = cut(title, TITLE_BYTES_MAX)
    wanted = words.phrases(query)
    scent = scents.scent(title, "k", text, wanted)
    assert scent.tokens == -(-len((title + scent.summary).encode()) // 4) <= SCENT_TOKENS_MAX
    assert 0 <= scent.share <= 1
    assert (scent.share > 0) is bool(wanted)


def test_scores() -> None:
    """The best has its share; a worse rank halves it at most."""
    assert scents.score(1, 8.0, 8.0) == 1.0
    assert scents.score(0.5, 8.0, 8.0) == 0.5
    assert scents.score(1, 2.0, 8.0) == 0.625
    assert scents.score(1, 0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("query", "text", "least", "most"),
    [
        ("rotate the keys", "rotate the keys", 1.0, 1.0),
        ("keys rotate the", "rotate the keys", 0.99, 0.99),
        ("rotat the kays", "rotate the keys", 0.85, 0.98),
        ("keys", "rotate the keys", 0.5, 0.9),
        ("bake a cake", "rotate the keys", 0.0, 0.45),
        ("out of memory", "compile\nlinker ran out of memory\n", 0.75, 0.98),
        ("x", "", 0.0, 0.0),
    ],
)
def test_likeness(query: str, text: str, least: float, most: float) -> None:
    """1 only for the same text; order and spelling count little, what is missing much."""
    assert least <= likeness(query, text) <= most
    assert (likeness(query, text) >= ALIKE_MIN) is (least >= 0.5)


@pytest.mark.parametrize(
    ("value", "trigger"),
    [
        ({"trigger": " Rotate  KEYS", "step": None}, "rotate keys"),
        ({"trigger": "x"}, None), ({"step": 1}, None), ({"trigger": 1, "step": 1}, None),
        ({"trigger": " ", "step": 1}, None), ([], None), (None, None), ("trigger step", None),
    ],
)  # fmt: skip
def test_what_is_a_reflex(value: Any, trigger: str | None) -> None:
    """A record with a trigger that is a text, and a step of any kind."""
    assert reflexes.trigger_of(value) == trigger


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"kind": "Build", "last_error": "No  space"}, "build\nno space\nthe brief"),
        ({"kind": "build", "last_error": None}, "build\n\nthe brief"),
        ({"kind": 1}, None), ("x", None), (None, None),
    ],
)  # fmt: skip
def test_what_a_tombstone_warns_of(value: Any, text: str | None) -> None:
    """Its kind, its error and its task's brief, a line each."""
    assert reflexes.dead_end_of(value, "The BRIEF") == text
