"""topic_messages, workspace_secret."""

from __future__ import annotations

from lite.workshop import ROLE, furnish, put
from verbs.bench import Bench
from verbs.refusals import refused

from tessera.lite.message import Commitments, decode

VERBS = ("topic_messages", "workspace_secret")


def test_rows_of_a_topic(bench: Bench) -> None:
    """A role's rows come in pages, in order; a role that nobody has claimed in has none."""
    store = bench.store
    furnish(store)
    assert store.topic_messages(ROLE).messages == []
    for _ in range(3):
        put(store)
        store.claim_next("drafts", "agt_ann", bench.name())
    first = store.topic_messages(ROLE, limit=2)
    rest = store.topic_messages(ROLE, after=first.next, limit=2)

    assert [row.sequence_number for row in [*first.messages, *rest.messages]] == [1, 2, 3]
    assert (first.topic_id, rest.next) == (store.workspace("ws_a").roles[0].topic_id, 3)
    assert store.topic_messages(ROLE, after=3).next == 3


def test_whose_topic(bench: Bench) -> None:
    """A workspace's key sees its own role's topic; another's, and one that is not there, are the same to it.
    An admin says whose role it means if several have one of that id.
    """
    store = bench.store
    for workspace_id, queue in (("ws_a", "drafts"), ("ws_b", "letters")):
        furnish(store, workspace_id, queue)
        put(store, workspace_id, queue)
        store.claim_next(queue, "agt_ann", "once")
    store.define_role("ws_b", "role_other", "Other")
    key = bench.key(scopes=["agent:runtime"], workspace_id="ws_a")
    admin = bench.key(scopes=["admin"])

    assert key.topic_messages(ROLE) == key.topic_messages(ROLE, "ws_a") == admin.topic_messages(ROLE, "ws_a")
    assert key.topic_messages(ROLE) != admin.topic_messages(ROLE, "ws_b")
    there = refused(bench, "not_found", key.topic_messages, "role_other")
    gone = refused(bench, "not_found", key.topic_messages, "role_none")
    assert there.detail == gone.detail
    refused(bench, "not_found", key.topic_messages, ROLE, "ws_b")
    refused(bench, "not_found", bench.key().topic_messages, ROLE)
    refused(bench, "not_found", admin.topic_messages, "role_none")
    assert "say whose" in refused(bench, "invalid_request", admin.topic_messages, ROLE).detail
    refused(bench, "invalid_request", admin.topic_messages, ROLE, "ws_a", limit=1_001)


def test_the_secret_is_the_owners(bench: Bench) -> None:
    """The owner is told a workspace's secret, which gives the log's commitments; no key is told, no admin."""
    store = bench.store
    furnish(store)
    put(store)
    store.claim_next("drafts", "agt_ann", "once")
    names = Commitments(bytes.fromhex(store.workspace_secret("ws_a")))
    (row,) = store.topic_messages(ROLE).messages
    claim = decode(row.message)

    assert claim is not None
    assert (claim.agent, claim.role) == (names.of("agent", "agt_ann"), names.of("role", ROLE))
    refused(bench, "scope_denied", bench.key(scopes=["admin"]).workspace_secret, "ws_a")
    refused(bench, "not_found", store.workspace_secret, "ws_b")
    refused(bench, "invalid_request", store.workspace_secret, "")
