"""What a refused verb leaves behind: nothing. And which verb can be refused how."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from verbs.bench import Bench

import tessera
from tessera.errors import TesseraError

Dump = dict[str, list[tuple[Any, ...]]]

# Which codes a verb can be refused with, beside those that every verb can: `unauthorized` for a key that does
# not count, `unavailable` for a store that cannot answer, `internal` for what nobody foresaw.
EVERY_VERB = frozenset({"unauthorized", "unavailable", "internal"})
_LEASE = {"invalid_request", "not_found", "forbidden", "scope_denied", "stale_lease"}
REFUSALS: dict[str, set[str]] = {
    "define_queue": {"invalid_request", "scope_denied", "forbidden"},
    "pause_queue": {"invalid_request", "scope_denied", "forbidden", "not_found"},
    "resume_queue": {"invalid_request", "scope_denied", "forbidden", "not_found"},
    "queues": {"invalid_request"},
    "enqueue": {"invalid_request", "not_found", "forbidden", "scope_denied", "idempotency_conflict"},
    "enqueue_batch": {"invalid_request", "not_found", "forbidden", "scope_denied", "idempotency_conflict"},
    "claim": {"invalid_request", "not_found", "forbidden", "scope_denied"},
    "claim_batch": {"invalid_request", "not_found", "forbidden", "scope_denied"},
    "heartbeat": _LEASE,
    "submit": _LEASE | {"idempotency_conflict"},
    "submit_batch": {"invalid_request"},  # what one of its submits is refused with is a value
    "split": _LEASE,
    "park": _LEASE,
    "release": _LEASE,
    "resume": {"invalid_request", "not_found", "forbidden", "scope_denied", "invalid_state"},
    "cancel": {"invalid_request", "not_found", "forbidden", "scope_denied", "invalid_state"},
    "requeue": {"invalid_request", "not_found", "forbidden", "scope_denied", "invalid_state"},
    "register_job": _LEASE | {"idempotency_conflict"},
    "update_job": {"invalid_request", "not_found", "forbidden", "scope_denied", "invalid_state"},
    "jobs": {"invalid_request", "not_found", "forbidden"},
    "reap": {"scope_denied"},
    "task": {"invalid_request", "not_found", "forbidden"},
    "tasks": {"invalid_request", "not_found", "forbidden"},
    "results": {"invalid_request", "not_found", "forbidden"},
    "counts": {"invalid_request"},
    "health": set(),
    "events": {"invalid_request", "scope_denied"},
    "put_record": {"invalid_request", "forbidden", "version_conflict"},
    "put_records": {"invalid_request", "forbidden", "version_conflict"},
    "get_record": {"invalid_request", "forbidden", "not_found"},
    "record_history": {"invalid_request", "forbidden", "not_found"},
    "stores": {"invalid_request", "forbidden"},
    "list_records": {"invalid_request", "forbidden"},
    "feeds": {"invalid_request", "forbidden"},
    "publish_feed": {"invalid_request", "forbidden"},
    "poll_feed": {"invalid_request", "forbidden"},
    "put_blob": {"invalid_request", "forbidden"},
    "get_blob": {"invalid_request", "forbidden", "not_found", "range_not_satisfiable"},
    "blob_meta": {"invalid_request", "forbidden", "not_found"},
    "define_bucket": {"invalid_request", "forbidden"},
    "buckets": {"invalid_request", "forbidden"},
    "put_object": {"invalid_request", "forbidden", "not_found", "version_conflict"},
    "get_object": {"invalid_request", "forbidden", "not_found", "range_not_satisfiable"},
    "object_meta": {"invalid_request", "forbidden", "not_found"},
    "list_objects": {"invalid_request", "forbidden", "not_found"},
    "object_history": {"invalid_request", "forbidden", "not_found"},
    "issue_key": {"invalid_request", "scope_denied", "not_found"},
    "search_nouns": {"invalid_request", "forbidden", "not_found"},
    "noun": {"invalid_request", "forbidden", "not_found"},
    "read_noun": {"invalid_request", "forbidden", "not_found"},
    "match_reflex": {"invalid_request", "forbidden"},
    "keys": {"invalid_request", "scope_denied"},
    "revoke_key": {"invalid_request", "not_found", "scope_denied"},
    "issue_approval": {"invalid_request", "scope_denied"},
    "define_workspace": {"invalid_request", "scope_denied"},
    "define_role": {"invalid_request", "scope_denied", "not_found", "invalid_state", "idempotency_conflict"},
    "assign_queue": {"invalid_request", "scope_denied", "not_found", "forbidden", "invalid_state"},
    "define_agent": {"invalid_request", "scope_denied", "not_found"},
    "define_lite_task": {
        "invalid_request",
        "scope_denied",
        "not_found",
        "forbidden",
        "idempotency_conflict",
    },
    "workspaces": {"invalid_request"},
    "workspace": {"invalid_request", "not_found"},
    "claims": {"invalid_request", "not_found"},
    "claim_next": {"invalid_request"},  # what policy refuses is an answer
    "claim_task": {"invalid_request", "not_found"},
    "recover_claims": {"scope_denied"},
    "topic_messages": {"invalid_request", "not_found"},
    "workspace_secret": {"invalid_request", "scope_denied", "not_found"},
}
# Codes of doors and verbs that the queue itself does not have.
ELSEWHERE = frozenset({"method_not_allowed", "rate_limited"})


def dump(path: Path) -> Dump:
    """Every row of every table of a store's file, but for the instant it was last written at."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as file:
        names = [name for (name,) in file.execute("select name from sqlite_schema where type = 'table'")]
        tables = {name: sorted(file.execute(f'select * from "{name}"'), key=repr) for name in names}
    tables["meta"] = [row for row in tables["meta"] if row[0] != "last_instant"]
    return tables


def refused(bench: Bench, code: str, verb: Callable[..., Any], *args: Any, **fields: Any) -> TesseraError:
    """The verb is refused with this code, certainly did nothing, and left every table as it was."""
    before = dump(bench.path)
    refusal = _refusal(code, verb, *args, **fields)
    assert dump(bench.path) == before
    return refusal


def refused_after_lapse(
    bench: Bench, code: str, verb: Callable[..., Any], *args: Any, queue: str = "q", **fields: Any
) -> TesseraError:
    """The verb is refused, and left exactly what settling its queue leaves: what had fallen due, no more."""
    expected = _settled(bench, queue)
    assert expected != dump(bench.path), "nothing had fallen due"
    refusal = _refusal(code, verb, *args, **fields)
    assert dump(bench.path) == expected
    return refusal


def unchanged(bench: Bench, verb: Callable[..., Any], *args: Any, **fields: Any) -> Any:
    """The verb's answer; it left every table as it was."""
    before = dump(bench.path)
    answer = verb(*args, **fields)
    assert dump(bench.path) == before
    return answer


def _refusal(code: str, verb: Callable[..., Any], *args: Any, **fields: Any) -> TesseraError:
    with pytest.raises(TesseraError) as caught:
        verb(*args, **fields)
    refusal = caught.value
    assert refusal.code == code, f"{refusal.code}: {refusal.detail}"
    assert refusal.definite is (code != "internal")
    assert 0 < len(refusal.detail) <= 300
    return refusal


def _settled(bench: Bench, queue: str) -> Dump:
    """What the store would hold once everything due in a queue is settled: tried on a copy of its file."""
    with tempfile.TemporaryDirectory(prefix="twin-") as folder:
        twin = Path(folder) / "twin.db"
        with closing(apsw.Connection(str(bench.path))) as file:
            file.execute("vacuum into ?", (str(twin),))
        with tessera.open(str(twin), runtime=bench.world.runtime()) as store:
            assert store.claim(queue, "settles", kinds=[]) is None
            return dump(twin)
