"""claim_next, claim_task, recover_claims: what is refused rather than answered. (How claims are decided is
tested in tests/lite.)
"""

from __future__ import annotations

from lite.workshop import furnish, put
from verbs.bench import Bench
from verbs.refusals import refused

VERBS = ("claim_next", "claim_task", "recover_claims")


def test_a_claim_names_its_attempt(bench: Bench) -> None:
    """Without an idempotency key, or with one that is none, there is no claim."""
    furnish(bench.store)
    task_id = put(bench.store)
    for key in ("", "two words", "x" * 256, "é"):
        refused(bench, "invalid_request", bench.store.claim_next, "drafts", "agt_ann", key)
        refused(bench, "invalid_request", bench.store.claim_task, task_id, "agt_ann", key)


def test_a_task_outside_every_workspace(bench: Bench) -> None:
    """A plain task, and one that is not there, cannot be contended for."""
    furnish(bench.store)
    for task_id in (bench.enqueue("q"), "none"):
        refused(bench, "not_found", bench.store.claim_task, task_id, "agt_ann", "once")


def test_an_agents_key(bench: Bench) -> None:
    """The scope of agents and a workspace go together and stand alone; the workspace must exist."""
    furnish(bench.store)
    issue = bench.store.issue_key
    for grant in (
        {"scopes": ["agent:runtime"]}, {"workspace_id": "ws_a"},
        {"workspace_id": "ws_a", "scopes": ["agent:runtime", "store"]},
        {"workspace_id": "ws_a", "scopes": ["agent:runtime", "admin"]},
        {"workspace_id": "a", "scopes": ["agent:runtime"]},
    ):  # fmt: skip
        refused(bench, "invalid_request", issue, **grant)
    refused(bench, "not_found", bench.store.issue_key, workspace_id="ws_none", scopes=["agent:runtime"])
    grant = issue(workspace_id="ws_a", scopes=["agent:runtime"]).grant
    assert (grant.workspace_id, grant.scopes) == ("ws_a", ["agent:runtime"])
