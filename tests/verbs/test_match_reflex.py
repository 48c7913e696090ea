"""match_reflex: steps learned for something like it, and dead ends to beware of."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import apsw
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.models import DeadEnd, Recalled, ReflexMatch
from tessera.names import REFLEXES

VERBS = ("match_reflex",)


def learn(bench: Bench, key: str, trigger: Any, step: Any = "step", version: int | None = None) -> None:
    """A reflex."""
    bench.store.put_record(REFLEXES, key, {"trigger": trigger, "step": step}, version)


def keys(bench: Bench, query: str, **how: Any) -> list[tuple[str, bool]]:
    """Which reflexes match, and whether exactly."""
    return [(one.key, one.exact) for one in bench.store.match_reflex(query, **how).matches]


def test_an_exact_match(bench: Bench) -> None:
    """The trigger itself matches exactly, whatever its case, accents and spaces; the step is any JSON."""
    learn(bench, "rotate", "Rotate the signing keys", {"run": ["make", "rotate"]})
    expected = Recalled([ReflexMatch("rotate", {"run": ["make", "rotate"]}, 1.0, exact=True)], [])
    assert bench.store.match_reflex("Rotate the signing keys") == expected
    assert bench.store.match_reflex("  rotate THE  signing kéys ") == expected


def test_a_fuzzy_match(bench: Bench) -> None:
    """Other words, another order and misspelt words match nearly, the most alike first."""
    learn(bench, "keys", "rotate the signing keys")
    learn(bench, "logs", "rotate the log files")
    learn(bench, "cake", "bake a chocolate cake")
    assert keys(bench, "rotate signing keys") == [("keys", False), ("logs", False)]
    assert keys(bench, "rotaet teh sigming keyz") == [("keys", False)]
    assert keys(bench, "choclate") == [("cake", False)]
    assert keys(bench, "rotate", limit=1) == [("logs", False)]
    assert keys(bench, "something else") == []
    for match in bench.store.match_reflex("rotate keys").matches:
        assert 0.5 <= match.score < 1


def test_joints_and_order_count_for_little(bench: Bench) -> None:
    """How the words of a query are joined, and in which order they stand, lowers its score but little, with
    spaces between words and without.
    """
    learn(bench, "keys", "rotate the signing keys")
    learn(bench, "schluessel", "签名密钥轮换")
    for query, key in (("ROTATE signing-keys", "keys"), ("keys/signing: rotate!", "keys"),
                       ("轮换签名密钥", "schluessel")):  # fmt: skip
        (match,) = bench.store.match_reflex(query).matches
        assert match.key == key
        assert 0.9 < match.score < 1


def test_an_exact_match_among_many_alike(bench: Bench) -> None:
    """However many reflexes share its words, the exact one comes first."""
    writes = [
        {
            "store": REFLEXES,
            "key": f"r-{n}",
            "value": {"trigger": f"deploy service {n} to staging", "step": n},
        }
        for n in range(100)
    ]
    bench.store.put_records(writes)
    first = bench.store.match_reflex("deploy service 77 to staging", limit=3).matches
    assert [(first[0].key, first[0].step, first[0].exact), len(first)] == [("r-77", 77, True), 3]
    assert not any(one.exact for one in first[1:])


def test_the_latest_version_counts(bench: Bench) -> None:
    """A reflex that is learned anew answers its new trigger; a record that is none any more answers none."""
    learn(bench, "r", "old words")
    learn(bench, "r", "new things", "second", version=1)
    assert keys(bench, "old words") == []
    assert bench.store.match_reflex("new things").matches[0].step == "second"
    bench.store.put_record(REFLEXES, "r", "no reflex", 2)
    assert keys(bench, "new things") == []


def test_records_that_are_no_reflex(bench: Bench) -> None:
    """A record of any form may be there; only one with a trigger and a step can match."""
    for n, value in enumerate([None, 1, "trigger", [], {}, {"trigger": "trigger"}, {"trigger": 1, "step": 1},
                               {"trigger": "", "step": 1}]):  # fmt: skip
        bench.store.put_record(REFLEXES, f"r-{n}", value)
    assert keys(bench, "trigger") == []
    bench.store.put_record("elsewhere", "r", {"trigger": "trigger", "step": 1})
    assert keys(bench, "trigger") == []


def test_scripts_without_spaces(bench: Bench) -> None:
    """A trigger of characters matches by any run of them."""
    learn(bench, "tokyo", "東京の署名鍵を交換する")
    assert keys(bench, "東京の署名鍵を交換する") == [("tokyo", True)]
    assert keys(bench, "署名鍵を交換") == [("tokyo", False)]


def test_damage_on_disk(bench: Bench) -> None:
    """What can no longer be read is left out, and the rest is recalled."""
    learn(bench, "a", "rotate keys")
    learn(bench, "b", "rotate keys")
    task_id = bench.dead(kind="rotate")
    bench.store.close()
    with closing(apsw.Connection(str(bench.path))) as file:
        file.execute("update records set value = cast(x'ff7b' as text) where key in ('a', ?)", (task_id,))
    bench.reopened()
    assert keys(bench, "rotate keys") == [("b", True)]
    assert bench.store.match_reflex("rotate").warnings == []


def test_warnings(bench: Bench) -> None:
    """A dead letter warns whoever is about to do something like it: by its kind, its error or its brief."""
    bench.queue("once", max_attempts=1)
    task_id = bench.enqueue("once", kind="compile", brief={"target": "docs of the parser"})
    bench.fail(bench.claim("once"), "linker ran out of memory")
    for query, least in (("compile", 1.0), ("out of memory", 0.7), ("the docs of the parser", 0.7)):
        [warning] = bench.store.match_reflex(query).warnings
        assert (warning.task_id, warning.kind, warning.error) == (
            task_id,
            "compile",
            "linker ran out of memory",
        )
        assert least <= warning.score <= 1
    assert bench.store.match_reflex("water the plants") == Recalled([], [])
    assert bench.store.match_reflex("linkr ran owt of memroy").warnings[0].task_id == task_id


def test_a_lapse_warns_too(bench: Bench) -> None:
    """A task that died of lapses, and one whose error nobody told, warn by their kind."""
    bench.queue("once", max_attempts=1)
    task_id = bench.leased("once", kind="transcode").task_id
    bench.world.pass_seconds(10)
    bench.store.reap()
    assert bench.store.match_reflex("transcode").warnings == [
        DeadEnd(task_id, "transcode", "lease lapsed", 1.0)
    ]


def test_a_brief_is_not_shown(bench: Bench) -> None:
    """A brief helps to find its dead end, and no more: neither search shows a word of it."""
    bench.queue("once", max_attempts=1)
    bench.dead("once", kind="k", brief={"secret": "hunter2"})
    assert "hunter2" not in str(bench.store.match_reflex("hunter2"))
    assert bench.store.match_reflex("hunter2").warnings != []
    assert bench.store.search_nouns("hunter2") == []


def test_whoever_may_not_read_recalls_nothing(bench: Bench) -> None:
    """A key without the store scope is refused, admin or not; one with it recalls."""
    learn(bench, "r", "words")
    for key in (bench.key(scopes=["admin"]), bench.key()):
        refused(bench, "forbidden", key.match_reflex, "words")
    assert bench.key(scopes=["store"]).match_reflex("words").matches[0].exact


def test_what_is_asked_wrongly(bench: Bench) -> None:
    """A query has its form; one without a word recalls nothing."""
    learn(bench, "r", "words")
    refused(bench, "invalid_request", bench.store.match_reflex, "w" * 4_097)
    refused(bench, "invalid_request", bench.store.match_reflex, "w", limit=0)
    for nothing in ("", "  ", "?!", '"'):
        assert bench.store.match_reflex(nothing) == Recalled([], [])
