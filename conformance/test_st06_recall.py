"""ST06: what is written is found by its words at once, in few tokens; what was learned is recalled."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.audit import audit
from conformance.bench import Bench, code_of
from conformance.files import audit_files, bucket

LANGUAGES = [
    ("The payments service restarts", "Payments"),
    ("Сервер перезапускается ночью", "ночью"),
    ("الخادم يعمل في الليل", "الليل"),
    ("サーバーは夜間に再起動します", "再起動"),
    ("服务器在夜间重新启动", "重新启动"),
]


def refs(client: Any, query: str, **how: Any) -> list[str]:
    """What is found, the best first."""
    return [one.ref for one in client.search_nouns(query, **how)]


def test_found_from_the_commit_on(bench: Bench) -> None:
    """Records and objects are found as they are now, also after a restart; what they said before is not."""
    store, key, client = bench.name("s"), bench.name("k"), bench.client
    where = bucket(bench)
    word, later = bench.name("early").replace("-", ""), bench.name("late").replace("-", "")
    client.put_record(store, key, {"title": "A record", "says": word})
    client.put_object(where, key, f"# A file\n\nsays {word}".encode(), content_type="text/markdown")
    assert sorted(refs(client, word)) == sorted([f"{store}/{key}", f"{where}/{key}"])
    assert refs(client, word, store=store) == [f"{store}/{key}"]
    assert refs(client, word, bucket=where) == [f"{where}/{key}"]
    client.put_record(store, key, {"title": "A record", "says": later}, 1)
    bench.backend.restart()
    assert refs(bench.client, word) == [f"{where}/{key}"]
    [found] = bench.client.search_nouns(later)
    assert (found.ref, found.title, found.version) == (f"{store}/{key}", "A record", 2)
    audit_files(bench, where)


@pytest.mark.parametrize(("text", "query"), LANGUAGES)
def test_in_any_language(bench: Bench, text: str, query: str) -> None:
    """Words are found where they are separated, runs of characters where they are not."""
    store = bench.name("s")
    bench.client.put_record(store, "k", {"text": text})
    bench.client.put_record(store, "other", {"text": "nothing of the kind"})
    assert refs(bench.client, query, store=store) == [f"{store}/k"]


def test_in_few_tokens(bench: Bench) -> None:
    """A scent has at most 150 tokens, the passage among them, and leads to the whole document."""
    where, key, client = bucket(bench), bench.name("k"), bench.client
    text = "\n".join(f"line {n} of a long page" for n in range(500)) + "\nthe needle is down here\n"
    client.put_object(where, key, text.encode(), content_type="text/plain")
    [found] = client.search_nouns("needle", bucket=where)
    assert found.tokens == -(-len((found.title + found.summary).encode()) // 4) <= 150
    assert "the needle is down here" in found.summary
    assert 0 < found.score <= 1
    assert client.noun(found.ref).size == found.size == len(text)
    read, first = "", 0
    while first is not None:
        part = client.read_noun(found.ref, first, 3_000)
        read, first = read + part.text, part.next
    assert read == text
    audit_files(bench, where)


@pytest.mark.parametrize(
    "query", ["", '"', "a OR (b", "NEAR(x y)", "* ^ : { } - +", "\x00", "%_", "é\u0301東"]
)
def test_any_text_is_a_query(bench: Bench, query: str) -> None:
    """No text is an error."""
    assert isinstance(bench.client.search_nouns(query), list)
    assert isinstance(bench.client.match_reflex(query).matches, list)


def test_reflexes_and_dead_ends(bench: Bench) -> None:
    """A trigger is recalled exactly and nearly; a task that was given up warns by its kind."""
    key, client = bench.name("k"), bench.client
    trigger = f"rotate the keys of {key}"
    client.put_record("tessera.reflexes", key, {"trigger": trigger, "step": {"run": "rotate"}})
    best = client.match_reflex(trigger.upper()).matches[0]
    assert (best.key, best.step, best.exact, best.score) == (key, {"run": "rotate"}, True, 1)
    near = client.match_reflex(f"rotate keys of {key}").matches[0]
    assert (near.key, near.exact) == (key, False)
    assert 0 < near.score < 1
    queue, kind = bench.queue(max_attempts=1), bench.name("kind")
    task_id = bench.enqueue(queue, kind=kind)
    lease = bench.claim(queue)
    client.submit(task_id, lease.fencing_token, None, bench.name("i"), ok=False, error="no room")
    warning = client.match_reflex(kind).warnings[0]
    assert (warning.task_id, warning.kind, warning.error) == (task_id, kind, "no room")
    audit(bench)


def test_forms_and_rights(bench: Bench) -> None:
    """Queries, limits and references have their forms; all of it needs the store scope."""
    client = bench.client
    assert code_of(lambda: client.search_nouns("x" * 4_097)) == "invalid_request"
    assert code_of(lambda: client.search_nouns("x", limit=0)) == "invalid_request"
    assert code_of(lambda: client.noun("no-such/noun")) == "not_found"
    assert code_of(lambda: client.noun("noun")) == "invalid_request"
    stranger = bench.backend.keyed(effect_classes=["read"])
    for refused in (
        lambda: stranger.search_nouns("x"),
        lambda: stranger.match_reflex("x"),
        lambda: stranger.noun("nouns/x"),
        lambda: stranger.read_noun("nouns/x"),
    ):
        assert code_of(refused) == "forbidden"
