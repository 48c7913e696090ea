"""A store in which everything has happened once: what a copy must hold and a check must look at."""

from __future__ import annotations

from typing import Any

import apsw

import tessera
from tessera import models
from tessera.testing import World


def build(store: tessera.Tessera, world: World) -> dict[str, Any]:
    """Fill a store. Returns the lease that is live at the end, and a key and an approval that were issued."""
    store.define_queue("q", lease_seconds=600, heartbeat_seconds=60, max_attempts=2, backoff_base_seconds=0)
    store.define_queue("other")

    def claimed(task_id: str, **spec: Any) -> models.Lease:
        store.enqueue({"queue": "q", "kind": "k", "brief": {"of": task_id}, "task_id": task_id, **spec})
        lease = store.claim("q", "w")
        assert lease.task_id == task_id
        return lease

    done = claimed("done")
    store.heartbeat("done", done.fencing_token)
    store.submit("done", done.fencing_token, {"sum": 1.5}, "done-key")
    for attempt in range(2):
        lease = claimed("dead") if attempt == 0 else store.claim("q", "w")
        store.submit("dead", lease.fencing_token, None, f"dead-{attempt}", ok=False, error="no good")
    parent = claimed("parent")
    store.split("parent", parent.fencing_token, [{"brief": {}, "task_id": f"child-{n}"} for n in range(2)])
    child = store.claim("q", "w")
    store.submit(child.task_id, child.fencing_token, {}, "child-key")
    other = store.claim("q", "w")
    store.release(other.task_id, other.fencing_token, 3_000)
    for answered in (True, False):
        lease = claimed("parked") if answered else store.claim("q", "w")
        store.park("parked", lease.fencing_token, "which?")
        if answered:
            store.resume("parked", {"this": 1})
    store.enqueue(queue="q", kind="k", brief={}, task_id="dependent", depends_on=["parked", "done"])
    store.enqueue(queue="q", kind="k", brief={}, task_id="cancelled", delay_seconds=10)
    store.cancel("cancelled", "no need")
    held = claimed("held")
    store.register_job("held", held.fencing_token, "job", "model")
    claimed("lapsed")
    world.pass_seconds(100)
    store.heartbeat("held", held.fencing_token)
    world.pass_seconds(100)
    assert store.reap() == 1  # `lapsed` missed its heartbeats
    store.put_blob(b"a blob " * 200_000)
    store.put_blob(b"")
    first = store.put_object("nouns", "note", b"one")
    store.put_object("nouns", "note", b"two two", expected_version=first.version)
    store.put_object("traces", "log", b"a blob " * 200_000)
    record = store.put_record("facts", "one", {"n": 1})
    store.put_record("facts", "one", {"n": 2}, record.version)
    for number in range(3):
        store.publish_feed("news", {"n": number})
    key = store.issue_key(name="kept", queues=["q"], scopes=["admin"])
    approval = store.issue_approval(effect_classes=["public"])
    return {"held": held, "key": key, "approval": approval}


def sql(path: str, text: str) -> None:
    """Do something to a file behind everybody's back."""
    connection = apsw.Connection(path)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute(text).fetchall()
    connection.close()


def contents(path: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    connection = apsw.Connection(path)
    tables = [name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")]
    with connection:
        rows = {table: sorted(connection.execute(f"select * from {table}"), key=repr) for table in tables}
    connection.close()
    return rows
