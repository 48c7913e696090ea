"""`tessera lite`: a workspace from its definition to a claim that is won, for people and as JSON."""

from __future__ import annotations

import pytest

DEFINE = [
    ("queues", "define", "drafts"),
    ("lite", "workspace", "define", "ws_a", "--name", "Acme"),
    ("lite", "queue", "assign", "drafts", "--workspace", "ws_a"),
    ("lite", "role", "define", "role_w", "--workspace", "ws_a", "--name", "Writer", "--lease-seconds", "60"),
    ("lite", "agent", "define", "agt_ann", "--workspace", "ws_a", "--role", "role_w", "--capability", "tea"),
]
TASK = (
    "lite", "task", "define", "drafts", "--workspace", "ws_a", "--role", "role_w", "--title", "T",
    "--brief", "B", "--input", '{"a": [1]}', "--capability", "tea", "--priority", "3", "--task-id", "task_1",
)  # fmt: skip
CLAIM = ("--agent", "agt_ann", "--idempotency-key")


@pytest.fixture
def defined(cli) -> list[str]:
    """A workspace with all that it takes; what the commands that made it said."""
    return [cli(*command).stdout for command in DEFINE]


def test_definitions_say_what_there_is_now(cli, defined) -> None:
    """Each definition prints what it made, and showing the workspace prints all of it."""
    for words, said in zip([["drafts"], ["ws_a", "Acme"], ["drafts", "ws_a"], ["role_w", "Writer", "60"],
                            ["agt_ann", "active", "role_w", "tea"]], defined, strict=True):  # fmt: skip
        assert all(word in said for word in words)
    view = cli.json("lite", "workspace", "show", "ws_a")
    assert (view["queues"], view["roles"][0]["lease_seconds"]) == (["drafts"], 60)
    assert (view["agents"][0]["capabilities"], view["agents"][0]["active"]) == (["tea"], True)
    shown = cli("lite", "workspace", "show", "ws_a").stdout
    assert all(word in shown for word in ("Acme", "role_w", "drafts", "agt_ann"))
    assert "ws_a" in cli("lite", "workspace", "list").stdout
    far = ("lite", "role", "define", "role_b", "--workspace", "ws_a", "--name", "B", "--topic", "0.0.77")
    assert "TESSERA_LITE_LOG=hedera" in cli(*far, code=1).stderr
    cli.env["TESSERA_LITE_LOG"] = "hedera"
    role = cli.json(*far, "--account", "0.0.7", "--account", "0.0.2")
    assert (role["topic_id"], role["accounts"], role["lease_seconds"]) == (
        "0.0.77",
        ["0.0.2", "0.0.7"],
        None,
    )
    off = cli.json("lite", "agent", "define", "agt_ann", "--workspace", "ws_a", "--inactive")
    assert (off["active"], off["role_ids"], off["capabilities"]) == (False, ["role_w"], ["tea"])


def test_an_empty_store_says_how_to_begin(cli) -> None:
    """Without workspaces the lists say so."""
    assert "tessera lite workspace define" in cli("lite", "workspace", "list").stdout
    assert cli("lite", "claims").stdout.strip() == "No such claims."


def test_a_claim_is_won_and_listed(cli, defined) -> None:
    """claim-next prints the task, its lease, the proof and the command that hands it in; claims lists it."""
    assert cli(*TASK).stdout.strip() == "task_1"
    assert "tessera lite claim-next drafts --agent" in cli("tasks", "show", "task_1").stdout
    answer = cli.json(
        "lite", "claim-next", "drafts", *CLAIM, "once", "--role", "role_w", "--lease-seconds", "9"
    )
    assert (answer["status"], answer["task_id"], answer["input"]) == ("claimed", "task_1", {"a": [1]})
    shown = cli(
        "lite", "claim-next", "drafts", *CLAIM, "once", "--role", "role_w", "--lease-seconds", "9"
    ).stdout
    assert all(
        word in shown for word in ("task_1: claimed", "token 1", "verified", "tessera submit task_1 1")
    )
    (claim,) = cli.json("lite", "claims", "--state", "claimed", "--workspace", "ws_a")["claims"]
    assert (claim["claim_id"], claim["lease_seconds"]) == (answer["claim_id"], 9)
    listed = cli("lite", "claims", "--topic", claim["topic_id"], "--limit", "1").stdout
    assert all(word in listed for word in (claim["claim_id"], "claimed", "verified"))
    assert "task_1 is not to be had" in cli("lite", "claim", "task_1", *CLAIM, "two").stdout


def test_answers_without_a_task(cli, defined) -> None:
    """No tasks and a rejection are answers, told in words; only the latter exits 1."""
    assert "No tasks for agt_ann in drafts. Come back in 30 s." in cli(
        "lite", "claim-next", "drafts", *CLAIM, "once"
    ).stdout.replace("\n", " ")
    said = cli("lite", "claim-next", "no", *CLAIM, "once", code=1).stdout
    assert "Rejected: queue_not_found. Another attempt will not fare better." in said
    assert cli.json("lite", "claim-next", "no", *CLAIM, "once", code=1)["reason"] == "queue_not_found"
    cli(*TASK)
    cli("lite", "agent", "define", "agt_ann", "--workspace", "ws_a", "--inactive")
    assert "inactive_agent" in cli("lite", "claim", "task_1", *CLAIM, "two", code=1).stdout
    assert cli("lite", "recover").stdout.startswith("0 claimed, 0 missed, 0 void")


def test_a_key_of_a_workspace(cli, defined, tmp_path) -> None:
    """`keys issue --workspace` makes an agent's key, with which the commands see the workspace alone."""
    issued = cli.json("keys", "issue", "--scope", "agent:runtime", "--workspace", "ws_a")
    (tmp_path / "key").write_text(issued["key"])
    cli(*TASK)
    queues = cli.json("queues", "list", "--key-file", str(tmp_path / "key"))["queues"]
    assert [queue["name"] for queue in queues] == ["drafts"]
    won = cli.json("lite", "claim-next", "drafts", *CLAIM, "k", "--key-file", str(tmp_path / "key"))
    assert won["status"] == "claimed"
    assert "ws_a" in cli("keys", "list").stdout
    lacking = cli("keys", "issue", "--scope", "agent:runtime", code=1)
    assert lacking.stderr.startswith("error: invalid_request: workspace_id")
