"""What fields are for, and values that could stand in them, by the fields' names: one word means one thing
wherever it stands. A field that is not here is shown with a value made from its schema.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

_TASK: Final = "t_0199d0a4c1b27c3a9f4e5d6b7a8c9e01"
_SHA256: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_AT: Final = "2026-11-30T09:41:07.000250Z"


class Word(Struct, frozen=True):
    """One field's text and a value of its kind; `is_object` where a document must be a JSON object."""

    example: Any
    text: str = ""
    is_object: bool = False


FIELDS: Final[dict[str, Word]] = {
    "after": Word("", "The page before's `next`, or the last thing that it showed; empty: the start."),
    "agent_id": Word("agt_ann", "The agent, as its workspace knows it."),
    "agree": Word(True, "Whether the two counts are equal."),
    "approval": Word(None, "The owner's word, from `tessera approvals issue`; `public` needs it."),
    "as_of": Word(_AT, "The instant of these counts."),
    "at": Word(_AT, "When it happened."),
    "attempts": Word(1, "How often it was claimed."),
    "brief": Word({"pull_request": 11}, "What is to be done: a JSON object.", is_object=True),
    "bucket": Word("nouns", "The bucket's name."),
    "cancel_reason": Word(None, "Why it was cancelled."),
    "capabilities": Word(["python"], "What the agent can do."),
    "children": Word([], "The tasks that it was split into."),
    "claimed_at": Word(_AT, "When it was claimed."),
    "content_type": Word("text/plain", "What the bytes are."),
    "cost_usd": Word(0.25, "US dollars."),
    "created_at": Word(_AT, "When it was made."),
    "cursor": Word(7, "The item's place in its feed."),
    "days": Word(7, "For how many days the key counts."),
    "db_ok": Word(True, "Whether the store answers."),
    "delay_seconds": Word(30, "For how long it cannot be claimed."),
    "dependencies": Word([], "What it waited for, with what came of it."),
    "depends_on": Word([], "Ids of tasks that must be done first."),
    "depth": Word(0, "Generations below the first task."),
    "description": Word("What it is for.", "A text for people."),
    "effect_class": Word("read", "What the work may touch."),
    "effect_classes": Word(["read"], "What the work may touch."),
    "error": Word(None, "Why it failed; up to 8 KiB."),
    "expected_version": Word(None, "The version that this one follows. Left out, there must be none."),
    "expired_leases": Word(0, "Leases that have lapsed and are not settled yet."),
    "expires_at": Word("2026-11-30T09:44:07.000250Z", "When it ends by itself."),
    "failures": Word(0, "How often it failed or lapsed."),
    "feed": Word("news", "The feed's name."),
    "fencing_token": Word(1, "The lease's: whoever holds an older one changes nothing."),
    "first": Word(0, "The first byte, counted from 0."),
    "follow": Word(False, "Go on telling, as server-sent events."),
    "hard_expires_at": Word("2026-11-30T10:11:07.000250Z", "Heartbeats do not move it."),
    "head": Word(7, "The cursor of the last item."),
    "heartbeat_seconds": Word(60, "How often a holder should say that it works."),
    "home": Word("bucket", "Which is meant, where a store and a bucket have the same name."),
    "idempotency_key": Word(f"{_TASK}:1", "The same one again gives the first answer again."),
    "input": Word({"go": True}, "The answer: any JSON."),
    "input_schema": Word(
        {"type": "object", "properties": {"go": {"type": "boolean"}}},
        "A JSON Schema that the answer must fit.",
    ),
    "inputs": Word([], "What answered its parks, in order."),
    "job_id": Word("job-1", "The job's id at whoever runs it."),
    "key": Word("a-key", "The key's name in its store or bucket."),
    "key_id": Word("k_0199d0a4c1b27c3a9f4e5d6b7a8c9e02", "The key's public name."),
    "kind": Word("code", "What sort of work it is."),
    "kinds": Word(["code"], "Only these kinds."),
    "last_error": Word(None, "Why it failed last."),
    "length": Word(4096, "How many bytes."),
    "limit": Word(100, "At most how many."),
    "max_attempts": Word(3, "After so many failures the task is dead."),
    "miss_limit": Word(3, "So many missed heartbeats end a lease."),
    "model": Word("a-model", "Which model runs the job."),
    "name": Word("review", "A name."),
    "next": Word(None, "The cursor of the page that follows; null at the end."),
    "not_before": Word(None, "Until then it cannot be claimed."),
    "ok": Word(True, "Whether the work succeeded."),
    "oldest_ready_age_seconds": Word(12.5, "For how long the oldest claimable task has been so."),
    "output": Word({"verdict": "good"}, "The result: any JSON, up to 1 MiB."),
    "output_sha256": Word(_SHA256, "Of the output's canonical text."),
    "parent_id": Word(None, "The task that it was split from."),
    "park": Word(1, "Which of the task's parks is answered."),
    "park_reason": Word(None, "What it waits to be told."),
    "parked_by": Word(None, "The key that parked it, which may not answer."),
    "parks": Word(0, "How often it was parked."),
    "paused": Word(False, "Whether no task is given out."),
    "payload": Word({"headline": "hello"}, "Any JSON."),
    "pending_children": Word(0, "Children that have not ended."),
    "pending_deps": Word(0, "Dependencies that are not done."),
    "place": Word("nouns", "The store or the bucket: what stands before the slash of a `ref`."),
    "prefix": Word("", "Only keys that begin so; literal."),
    "priority": Word(0, "Higher is claimed earlier."),
    "published_at": Word(_AT, "When it was published."),
    "query": Word("release notes", "What to look for, in any language."),
    "queue": Word("review", "The queue's name."),
    "queue_id": Word("review", "The queue's name."),
    "queues": Word(["review"], "Names of queues."),
    "range": Word("bytes=0-99", "Which bytes, in the words of RFC 9110 §14: one range."),
    "reaped": Word(2, "Lapses, retries and parks that were settled."),
    "reaper_last_run": Word(_AT, "When what had fallen due was last settled."),
    "reason": Word("It waits for a decision.", "For whoever reads it; up to 8 KiB."),
    "recount": Word(False, "Count the tasks themselves beside it."),
    "ref": Word("nouns/a-key", "Where it is: the store or bucket, a slash, and the key."),
    "replayed": Word(False, "Whether this is the first receipt again."),
    "requeued_from": Word(None, "The dead task whose work this is."),
    "required_role_id": Word("role_reviewer", "The role that an agent must have for it."),
    "result_id": Word("r_7", "The result's id."),
    "resume_at": Word(None, "When it goes on without an answer."),
    "resume_within": Word(3600, "Seconds after which the task goes on without an answer."),
    "resumed_at": Word(_AT, "When the answer came."),
    "revoked_at": Word(None, "When it was revoked."),
    "role_id": Word("role_reviewer", "The role."),
    "role_ids": Word(["role_reviewer"], "The agent's roles."),
    "scopes": Word([], "`admin` to run the store, `store` for its documents and files."),
    "seq": Word(7, "The event's place in the log."),
    "sha256": Word(_SHA256, "SHA-256, 64 hex digits."),
    "size": Word(4, "Bytes."),
    "state": Word("ready", "Where the task is in its life."),
    "status": Word("completed", "Where the job is in its life."),
    "store": Word("notes", "The store's name."),
    "submitted_at": Word(_AT, "When it was handed in."),
    "task_id": Word(_TASK, "The task's id."),
    "time": Word(_AT, "The store's clock."),
    "topic_id": Word("0.0.1002", "The topic of the ordered log."),
    "traceparent": Word("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "W3C Trace Context."),
    "type": Word("enqueued", "What happened."),
    "updated_at": Word(_AT, "When it changed last."),
    "usage": Word({"input_tokens": 900, "output_tokens": 80}, "A JSON object.", is_object=True),
    "value": Word({"text": "remember this"}, "Any JSON, up to 1 MiB."),
    "version": Word(1, "Counted from 1; a look that names none gets the latest."),
    "wait": Word(0, "For how many seconds to wait for it."),
    "wait_reason": Word(None, "What a waiting task waits for."),
    "wait_seconds": Word(20, "For how many seconds to wait for work."),
    "weight": Word(1, "Its share of claims that name several queues."),
    "worker": Word("reviewer-1", "Who works: a name, always the same."),
    "workspace_id": Word("ws_house", "The workspace."),
}
# What a field is for in one model, where its name's text would be wrong.
_IN_ONE: Final[dict[str, str]] = {
    "Claimed.brief": "What is to be done, in words.",
    "Claimed.input": "What comes with the brief: any JSON.",
    "ClaimView.state": "Where the claim is: `reserved`, then `claimed`, `missed` or `void`.",
    "Content.key": "The object's key; null for a blob.",
    "Counts.queues": "Each queue's tasks by state, by the queue's name.",
    "Details.brief": "What is to be done, in words.",
    "Details.input": "What comes with the brief: any JSON.",
    "FeedPage.next": "Where the next page begins, though nothing may be there yet.",
    "Health.queues": "Each queue's tasks and what is late, by the queue's name.",
    "Health.version": "Of the software.",
    "IssuedKey.key": "The secret. No other answer ever shows it.",
    "LiteTaskSpec.brief": "What is to be done, in words.",
    "LiteTaskSpec.input": "What comes with the brief: any JSON.",
    "Proof.status": "Whether the log's own rows have been read again.",
    "Queues.queues": "The queues with their settings.",
    "TopicMessages.next": "Where the next page begins, though nothing may be there yet.",
}
# Fields that may be left out and still say what a request is for.
TELLING: Final = frozenset(
    {"queue", "output", "status", "usage", "cost_usd", "name", "days", "wait_seconds", "idempotency_key"}
)


def text_of(model: type[Struct], field: str) -> str:
    """What a field of a model is for; empty if nothing is said of it."""
    return _IN_ONE.get(f"{model.__name__}.{field}") or (FIELDS[field].text if field in FIELDS else "")
