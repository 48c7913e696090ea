"""define_workspace, define_role, assign_queue, define_agent, define_lite_task, and the looks at them."""

from __future__ import annotations

from typing import Any

import pytest
from lite.workshop import ROLE, furnish, put
from verbs.bench import Bench
from verbs.refusals import refused, unchanged

VERBS = (
    "define_workspace", "define_role", "assign_queue", "define_agent", "define_lite_task", "workspaces",
    "workspace", "claims",
)  # fmt: skip
TASK = dict(workspace_id="ws_a", queue_id="drafts", title="T", brief="B", required_role_id=ROLE)


def test_a_workspace_is_what_was_defined(bench: Bench) -> None:
    """A workspace shows its roles, queues and agents as they were defined last."""
    store = bench.store
    furnish(store)
    role = store.define_role("ws_a", ROLE, "Author", lease_seconds=60, accounts=["0.0.9", "0.0.2", "0.0.9"])
    store.define_agent("ws_a", "agt_ann", [ROLE, ROLE], ["b", "a", "b"], active=False)
    store.define_workspace("ws_a", "Another name")

    view = store.workspace("ws_a")
    assert (view.name, view.queues) == ("Another name", ["drafts"])
    assert view.roles == [role]
    assert (role.name, role.lease_seconds, role.accounts) == ("Author", 60, ["0.0.2", "0.0.9"])
    ann, bob = view.agents
    assert (ann.role_ids, ann.capabilities, ann.active) == ([ROLE], ["a", "b"], False)
    assert bob.active
    assert [one.workspace_id for one in store.workspaces()] == ["ws_a"]


def test_defining_again_keeps_what_proofs_rest_on(bench: Bench) -> None:
    """A workspace's secret and a role's topic outlive every change of their names."""
    furnish(bench.store)
    before = bench.store.workspace("ws_a").roles[0].topic_id
    bench.store.define_workspace("ws_a", "Another name")
    assert bench.store.define_role("ws_a", ROLE, "Another name").topic_id == before
    furnish(bench.store, "ws_b", "letters")
    assert bench.store.workspace("ws_b").roles[0].topic_id != before


def test_a_topic_belongs_to_one_role(bench: Bench) -> None:
    """A role keeps its topic, and no other role gets it."""
    furnish(bench.store)
    topic = bench.store.workspace("ws_a").roles[0].topic_id
    refused(bench, "invalid_state", bench.store.define_role, "ws_a", ROLE, "W", topic_id="0.0.78")
    refused(bench, "idempotency_conflict", bench.store.define_role, "ws_a", "role_b", "B", topic_id=topic)
    refused(bench, "invalid_request", bench.store.define_role, "ws_a", "role_b", "B", topic_id="77")
    refused(bench, "not_found", bench.store.define_role, "ws_none", ROLE, "W")


def test_what_is_left_out_stays(bench: Bench) -> None:
    """Defining a role or an agent again changes what is given, and nothing else; a lease of None is the
    queue's.
    """
    furnish(bench.store)
    role = bench.store.define_role("ws_a", ROLE, "Writer", lease_seconds=60, accounts=["0.0.2"])
    assert bench.store.define_role("ws_a", ROLE, "Writer") == role
    changed = bench.store.define_role("ws_a", ROLE, "Writer", lease_seconds=None, accounts=[])
    assert (changed.lease_seconds, changed.accounts) == (None, [])
    off = bench.store.define_agent("ws_a", "agt_ann", active=False)
    assert (off.role_ids, off.capabilities, off.active) == ([ROLE], ["english"], False)
    changed_agent = bench.store.define_agent("ws_a", "agt_ann", capabilities=[])
    assert (changed_agent.role_ids, changed_agent.capabilities, changed_agent.active) == ([ROLE], [], False)
    new = bench.store.define_agent("ws_a", "agt_new")
    assert (new.role_ids, new.capabilities, new.active) == ([], [], True)


def test_a_topic_lies_in_the_log_that_claims_go_to(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the store's own log no new role gets a topic of a network, and with a network none goes without;
    a role that is there may still be given another name.
    """
    furnish(bench.store)
    told = refused(bench, "invalid_request", bench.store.define_role, "ws_a", "role_b", "B", topic_id="0.0.7")
    assert "TESSERA_LITE_LOG=hedera" in told.detail
    monkeypatch.setenv("TESSERA_LITE_LOG", "hedera")
    told = refused(bench, "invalid_request", bench.store.define_role, "ws_a", "role_b", "B")
    assert "tessera lite topic" in told.detail
    assert bench.store.define_role("ws_a", "role_b", "B", topic_id="0.0.7").topic_id == "0.0.7"
    assert bench.store.define_role("ws_a", ROLE, "Author").name == "Author"
    monkeypatch.delenv("TESSERA_LITE_LOG")
    assert bench.store.define_role("ws_a", "role_b", "C").name == "C"


def test_a_queue_is_given_once_and_empty(bench: Bench) -> None:
    """A queue that had a task, or is another's, cannot be given; giving it again changes nothing."""
    furnish(bench.store)
    furnish(bench.store, "ws_b", "letters")
    unchanged(bench, bench.store.assign_queue, "ws_a", "drafts")
    refused(bench, "invalid_state", bench.store.assign_queue, "ws_b", "drafts")
    bench.enqueue("q")
    refused(bench, "invalid_state", bench.store.assign_queue, "ws_a", "q")
    refused(bench, "not_found", bench.store.assign_queue, "ws_a", "none")
    refused(bench, "not_found", bench.store.assign_queue, "ws_none", "q")
    refused(bench, "invalid_request", bench.store.assign_queue, "none", "q")
    admin = bench.key(scopes=["admin"], queues=["elsewhere"])
    refused(bench, "forbidden", admin.assign_queue, "ws_a", "q")


def test_an_agent_has_roles_that_exist(bench: Bench) -> None:
    """An agent gets no role that its workspace has not."""
    furnish(bench.store)
    refused(bench, "not_found", bench.store.define_agent, "ws_a", "agt_ann", ["role_none"])
    refused(bench, "not_found", bench.store.define_agent, "ws_none", "agt_ann")
    refused(bench, "invalid_request", bench.store.define_agent, "ws_a", "ann")


def test_a_task_needs_what_it_names(bench: Bench) -> None:
    """A task's workspace, queue, role and dependencies must exist together; one of another workspace does
    not.
    """
    store = bench.store
    furnish(store)
    furnish(store, "ws_b", "letters")
    other, plain = put(store, "ws_b", "letters"), bench.enqueue("q")
    for wrong in (
        {"workspace_id": "ws_none"}, {"queue_id": "none"}, {"queue_id": "letters"}, {"queue_id": "q"},
        {"required_role_id": "role_none"}, {"depends_on": ["none"]}, {"depends_on": [other]},
        {"depends_on": [plain]},
    ):  # fmt: skip
        refused(bench, "not_found", store.define_lite_task, **{**TASK, **wrong})
    for wrong in ({"title": ""}, {"title": "x" * 201}, {"required_role_id": "writer"}, {"priority": 1_001}):
        refused(bench, "invalid_request", store.define_lite_task, **{**TASK, **wrong})
    refused(bench, "idempotency_conflict", store.define_lite_task, **TASK, task_id=other)
    admin = bench.key(scopes=["admin"], queues=["elsewhere"])
    refused(bench, "forbidden", admin.define_lite_task, **TASK)
    first = put(store, task_id="task_1")
    assert unchanged(bench, put, store, task_id="task_1", title="another") == first
    assert store.task(put(store, depends_on=[first])).wait_reason == "dependencies"


def test_definitions_are_for_admin_keys(bench: Bench) -> None:
    """Neither a plain key nor a workspace's own defines anything."""
    furnish(bench.store)
    agents = bench.key(scopes=["agent:runtime"], workspace_id="ws_a")
    for key in (bench.key(), agents):
        refused(bench, "scope_denied", key.define_workspace, "ws_c", "C")
        refused(bench, "scope_denied", key.define_role, "ws_a", "role_b", "B")
        refused(bench, "scope_denied", key.assign_queue, "ws_a", "q")
        refused(bench, "scope_denied", key.define_agent, "ws_a", "agt_c")
        refused(bench, "scope_denied", key.define_lite_task, **TASK)
        refused(bench, "scope_denied", key.recover_claims)


def test_looks_show_a_key_its_own_workspace(bench: Bench) -> None:
    """Another workspace is answered like one that does not exist, and no claim of it is listed."""
    store = bench.store
    for name, queue in (("ws_a", "drafts"), ("ws_b", "letters")):
        furnish(store, name, queue)
        put(store, name, queue)
        store.claim_next(queue, "agt_ann", "once")
    key = bench.key(scopes=["agent:runtime"], workspace_id="ws_a")
    said: list[Any] = []
    for name in ("ws_b", "ws_z"):
        said += [refused(bench, "not_found", key.workspace, name).detail.replace(name, "it")]
        said += [refused(bench, "not_found", key.claims, name).detail.replace(name, "it")]
    assert len(set(said)) == 1
    assert [one.workspace_id for one in key.workspaces()] == ["ws_a"]
    assert {one.workspace_id for one in key.claims().claims} == {"ws_a"}
    assert len(store.claims().claims) == 2
    plain = bench.key()
    assert (plain.workspaces(), plain.claims().claims) == ([], [])
    refused(bench, "not_found", plain.workspace, "ws_a")
    refused(bench, "invalid_request", store.workspace, "")
    refused(bench, "invalid_request", store.claims, state="lost")


def test_claims_page(bench: Bench) -> None:
    """Claims come a page at a time, oldest first, and can be narrowed by state and topic."""
    store = bench.store
    furnish(store)
    for _ in range(3):
        put(store)
        store.claim_next("drafts", "agt_ann", bench.name())
    first = store.claims(limit=2)
    rest = store.claims(limit=2, after=first.next)
    assert [len(first.claims), len(rest.claims), rest.next] == [2, 1, None]
    topic = first.claims[0].topic_id
    assert len(store.claims(state="claimed", topic_id=topic).claims) == 3
    assert store.claims(state="missed").claims == store.claims(topic_id="0.0.1").claims == []


def test_names_have_their_forms(bench: Bench) -> None:
    """An id without its prefix, or with more than its letters, is refused."""
    for name in ("a", "ws_", "ws_a b", "ws_a\n", "WS_a", "ws_" + "a" * 65):
        refused(bench, "invalid_request", bench.store.define_workspace, name, "A")
    refused(bench, "invalid_request", bench.store.define_workspace, "ws_a", "")
