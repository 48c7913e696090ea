"""What a workspace's work says, and who is in it, leaves by no side door: recall, events, feeds, records."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lite.workshop import SECRETS, agents_key, fresh, furnish, put, won
from tessera.errors import Forbidden, ScopeDenied, TesseraError
from tessera.library import Tessera

WORDS = "polish seventeen brass lanterns"  # what the work is, in either form


@pytest.fixture
def town(store: Tessera) -> Tessera:
    """A plain task and a workspace's that were to do the same, each dead."""
    store.define_queue("plain", max_attempts=1)
    furnish(store)
    store.define_queue("drafts", max_attempts=1)
    brief = {"title": WORDS, "brief": WORDS}
    store.enqueue(queue="plain", kind="k", brief=brief, task_id="open")
    put(store, title=WORDS, brief=WORDS, input={"x": WORDS}, task_id="hidden")
    for lease in (store.claim("plain", "w"), won(store)):
        store.submit(lease.task_id, lease.fencing_token, WORDS, fresh(), ok=False, error=WORDS)
    assert {store.task(name).state for name in ("open", "hidden")} == {"dead"}
    return store


def test_nothing_like_it_is_recalled(town: Tessera) -> None:
    """Whoever guesses what a dead task was about is warned of a plain one, and never of a workspace's, not
    by its brief, its error or a few of its words; nor does the index of nouns have them.
    """
    plain = town.as_key(town.issue_key(scopes=["store"]).key)
    for key in (plain, town):
        for guess in (WORDS, "seventeen lanterns", "seventen lantrns"):
            assert [one.task_id for one in key.match_reflex(guess).warnings] == ["open"]
        assert {one.ref for one in key.search_nouns("brass lanterns")} == {"negative.knowledge/open"}
        assert [key.search_nouns(word) for word in ("ws_a", "agt_ann", "role_writer")] == [[], [], []]


LOOKS: dict[str, Callable[[Tessera, str, str], Any]] = {
    "workspace": lambda key, workspace, topic: key.workspace(workspace),
    "claims": lambda key, workspace, topic: key.claims(workspace),
    "claims_of_topic": lambda key, workspace, topic: key.claims(topic_id=topic),
    "topic_messages": lambda key, workspace, topic: key.topic_messages("role_writer", workspace),
    "keys": lambda key, workspace, topic: key.issue_key(scopes=["agent:runtime"], workspace_id=workspace),
    "role": lambda key, workspace, topic: key.define_role(workspace, "role_x", "X", topic_id=topic),
    "agent": lambda key, workspace, topic: key.define_agent(workspace, "agt_x"),
    "task": lambda key, workspace, topic: put(key, workspace),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_workspace_is_no_others_to_know(town: Tessera, look: str) -> None:
    """Who asks for another's workspace, claims, topic or role, or would change them, is answered to the
    letter like about those that there are not.
    """
    furnish(town, "ws_b", "letters")
    topic = town.workspace("ws_a").roles[0].topic_id
    for key in (town.as_key(town.issue_key(scopes=["store"]).key), agents_key(town, "ws_b")):
        said = []
        for workspace, name in (("ws_a", topic), ("ws_none", "0.0.77")):
            try:
                answer: Any = LOOKS[look](key, workspace, name)
            except TesseraError as refusal:
                answer = refusal.problem()
            said.append(repr(answer).replace(workspace, "WORKSPACE"))
        assert said[0] == said[1]
        assert "'code'" in said[0] or "claims=[]" in said[0]


ASKS: dict[str, Callable[[Tessera], Any]] = {
    "feeds": lambda key: key.feeds(),
    "poll_feed": lambda key: key.poll_feed("news"),
    "publish_feed": lambda key: key.publish_feed("news", 1),
    "stores": lambda key: key.stores(),
    "list_records": lambda key: key.list_records("negative.knowledge"),
    "get_record": lambda key: key.get_record("negative.knowledge", "hidden"),
    "search_nouns": lambda key: key.search_nouns(WORDS),
    "match_reflex": lambda key: key.match_reflex(WORDS),
    "buckets": lambda key: key.buckets(),
    "events": lambda key: key.events(),
}


@pytest.mark.parametrize("ask", ASKS)
def test_an_agent_has_no_way_out(town: Tessera, ask: str) -> None:
    """A workspace's key can neither write where other tenants read nor read what they wrote, nor the log."""
    with pytest.raises((Forbidden, ScopeDenied)):
        ASKS[ask](agents_key(town))


def test_the_log_is_for_admins(town: Tessera) -> None:
    """No other key reads the events; and those say nothing of what a workspace's task was about."""
    with pytest.raises(ScopeDenied):
        town.as_key(town.issue_key(scopes=["store"]).key).events()
    admin = town.as_key(town.issue_key(scopes=["admin"]).key)
    mine = [event for event in admin.events(limit=1_000) if event.task_id == "hidden"]
    assert {event.type for event in mine} >= {"claimed", "dead_lettered"}
    assert not any(word in repr(event) for event in mine for word in (WORDS, *SECRETS))


def test_a_feed_learns_of_no_work(town: Tessera) -> None:
    """Nothing that happens in a workspace puts an item in a feed, an object in a bucket or a record in a
    store but the tombstone, which says neither what the task was about nor why it died.
    """
    plain = town.as_key(town.issue_key(scopes=["store"]).key)
    assert (plain.feeds(), sum(one.objects for one in plain.buckets())) == ([], 0)
    assert plain.stores() == ["negative.knowledge"]
    values = [one.value for one in plain.list_records("negative.knowledge").records]
    assert sorted(one["task_id"] for one in values) == ["hidden", "open"]
    (said,) = [json.dumps(one) for one in values if one["task_id"] == "hidden"]
    assert not any(word in said for word in (*WORDS.split(), "ws_a", "agt_ann"))
