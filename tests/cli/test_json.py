"""`--json` is what travels on the wire, for every command of a verb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tessera.cli.main import main
from tessera.models import ClaimAnswer, Claimed, Content, Receipt, Submitted
from tessera.surface import SURFACE

SHA256 = "9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0"  # of b"aaa"

ON_FILE = ("--output", "got")
# One run of every verb's command, in an order in which all of them succeed.
STORY: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("define_queue", ("queues", "define", "q", "--backoff-base-seconds", "0", "--max-attempts", "1")),
    ("pause_queue", ("queues", "pause", "q")),
    ("resume_queue", ("queues", "resume", "q")),
    ("queues", ("queues", "list")),
    ("enqueue", ("enqueue", "q", "k", '{"n": 1.5}', "--task-id", "a")),
    ("enqueue_batch", ("enqueue-batch", "tasks.jsonl")),
    ("claim", ("claim", "q", "--worker", "w")),
    ("claim_batch", ("claim", "q", "--worker", "w", "--limit", "3")),
    ("heartbeat", ("heartbeat", "a", "1")),
    ("register_job", ("jobs", "register", "a", "1", "j", "--model", "m")),
    ("update_job", ("jobs", "update", "j", "--status", "completed", "--usage", '{"n": 1}')),
    ("jobs", ("jobs", "list")),
    ("submit", ("submit", "a", "1", '{"ok": [null]}')),
    ("submit_batch", ("submit-batch", "submits.json")),
    ("release", ("release", "c", "1")),
    ("claim", ("claim", "q", "--worker", "w")),
    ("split", ("split", "c", "2", '[{"brief": {}, "task_id": "child"}]')),
    ("claim", ("claim", "q", "--worker", "w")),
    ("park", ("park", "child", "1", "why")),
    ("resume", ("resume", "child", "1")),
    ("cancel", ("cancel", "c", "enough")),
    ("requeue", ("requeue", "b")),
    ("reap", ("reap",)),
    ("task", ("tasks", "show", "a")),
    ("tasks", ("tasks", "list")),
    ("results", ("tasks", "results", "a")),
    ("counts", ("counts", "--recount")),
    ("health", ("health",)),
    ("events", ("events",)),
    ("put_record", ("records", "put", "s", "key", '{"title": "Keys"}')),
    ("put_records", ("records", "put-batch", "writes.json")),
    ("get_record", ("records", "get", "s", "key")),
    ("record_history", ("records", "history", "s", "key")),
    ("stores", ("records", "stores")),
    ("list_records", ("records", "list", "s")),
    ("publish_feed", ("feeds", "publish", "f", "1")),
    ("feeds", ("feeds", "list")),
    ("poll_feed", ("feeds", "poll", "f")),
    ("put_blob", ("blobs", "put", "bytes")),
    ("get_blob", ("blobs", "get", SHA256, *ON_FILE)),
    ("blob_meta", ("blobs", "show", SHA256)),
    ("define_bucket", ("buckets", "define", "b", "--description", "d")),
    ("buckets", ("buckets", "list")),
    ("put_object", ("objects", "put", "b", "key", "bytes")),
    ("get_object", ("objects", "get", "b", "key", "--range", "1-", *ON_FILE)),
    ("object_meta", ("objects", "show", "b", "key")),
    ("list_objects", ("objects", "list", "b")),
    ("object_history", ("objects", "history", "b", "key")),
    ("search_nouns", ("nouns", "search", "keys")),
    ("noun", ("nouns", "show", "s/key")),
    ("read_noun", ("nouns", "read", "s/key")),
    ("put_record", ("reflex", "learn", "turn", "turn keys", '{"run": 1}')),
    ("match_reflex", ("reflex", "match", "turn keys")),
    ("issue_key", ("keys", "issue", "--name", "n")),
    ("keys", ("keys", "list")),
    ("issue_approval", ("approvals", "issue", "--effect", "public")),
    ("define_queue", ("queues", "define", "drafts")),
    ("define_workspace", ("lite", "workspace", "define", "ws_a", "--name", "A")),
    ("define_role", ("lite", "role", "define", "role_r", "--workspace", "ws_a", "--name", "R")),
    ("assign_queue", ("lite", "queue", "assign", "drafts", "--workspace", "ws_a")),
    ("define_agent", ("lite", "agent", "define", "agt_a", "--workspace", "ws_a", "--role", "role_r")),
    (
        "define_lite_task",
        (
            *("lite", "task", "define", "drafts", "--workspace", "ws_a", "--role", "role_r", "--title", "T"),
            *("--brief", "B", "--input", "1", "--task-id", "task_1"),
        ),
    ),
    ("claim_next", ("lite", "claim-next", "drafts", "--agent", "agt_a", "--idempotency-key", "1")),
    ("claim_next", ("lite", "claim-next", "drafts", "--agent", "agt_a", "--idempotency-key", "2")),
    ("claim_task", ("lite", "claim", "task_1", "--agent", "agt_a", "--idempotency-key", "3")),
    ("workspaces", ("lite", "workspace", "list")),
    ("workspace", ("lite", "workspace", "show", "ws_a")),
    ("claims", ("lite", "claims")),
    ("workspace_secret", ("lite", "secret", "ws_a")),
    ("recover_claims", ("lite", "recover")),
)
FILES = {
    "bytes": "aaa",
    "tasks.jsonl": '{"queue": "q", "kind": "k", "brief": {}, "task_id": "b"}\n'
    '{"queue": "q", "kind": "k", "brief": {}, "task_id": "c"}\n',
    "submits.json": '[{"task_id": "b", "fencing_token": 1, "ok": false, "error": "e"}]',
    "writes.json": '[{"store": "s", "key": "other", "value": 1}]',
}
# The verbs whose commands are met elsewhere: rows for a program, and a key of which the story knows no id.
ELSEWHERE = {"topic_messages", "revoke_key"}
# Answers that are one of several models, told apart by what they hold.
READS_AS: dict[Any, list[Any]] = {Claimed: [ClaimAnswer], Submitted: [dict[str, list[Receipt]]]}
Said = list[tuple[str, str]]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """What each command of the story printed, beside its verb."""
    home: Path = tmp_path_factory.mktemp("story")
    for name, text in FILES.items():
        (home / name).write_text(text)
    env = {"TESSERA_STORE": str(home / "store.db"), "TESSERA_KEY": ""}
    found = []
    for verb, words in STORY:
        args = [str(home / word) if word in FILES or word == "got" else word for word in words]
        result = CliRunner().invoke(main, [*args, "--json"], env=env, prog_name="tessera")
        assert result.exit_code == 0, (words, result.output)
        found.append((verb, result.stdout))
    return found


@pytest.mark.parametrize("place", range(len(STORY)), ids=lambda place: " ".join(STORY[place][1][:3]))
def test_json_is_the_answer_of_the_wire(said: Said, place: int) -> None:
    """A command's JSON is one value, with each field of the answer over HTTP and no other."""
    verb, text = said[place]
    printed, row = json.loads(text), SURFACE[verb]
    if row.answer is Content:  # bytes: what HTTP tells of them in its headers
        assert printed.keys() == set(Content.__struct_fields__) - {"pieces"}
        return
    kinds = READS_AS.get(row.answer, [row.answer, *row.answer.__subclasses__()])
    forms = [_form(text, kind) for kind in kinds]
    if verb == "issue_key":  # and once more beside it, as the contract has it for scripts
        grant = printed["grant"]
        names = ("key_id", "name", "queues", "kinds", "effect_classes", "scopes", "expires_at")
        assert {name: printed.pop(name) for name in names} == {name: grant[name] for name in names}
    assert printed in forms


def _form(text: str, kind: Any) -> object:
    """What a client that knows this model reads of it, as JSON again; None if it cannot."""
    try:
        return json.loads(msgspec.json.encode(msgspec.json.decode(text, type=kind)))
    except msgspec.ValidationError:
        return None


def test_no_verb_is_left_out() -> None:
    """Each verb that has a command is in the story, but for those that are named."""
    assert {verb for verb, _ in STORY} | ELSEWHERE == SURFACE.keys()
