"""The statement files: how they load, what they refuse, how they run."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

from tessera.storage import catalogue
from tessera.storage.catalogue import Dialect
from tessera.storage.prepared import prepare
from tessera.storage.sqlite import Writer
from tessera.testing import World

HOT = (
    "next_ready", "earliest_due", "due_in_queue", "lapsed_in_queue", "task_named", "task_numbered",
    "tasks_claimed_under", "result_keyed", "results_of", "key_hashed", "key_standing", "brief_of",
    "queue_named", "events_after", "id_of", "requeued_as",
    "record_head", "record_latest", "record_version", "record_versions",
    "record_versions_sizes", "records_page", "records_page_sizes", "feed_named", "feed_items",
    "feed_items_sizes", "head_to_win", "claim_named", "contest_starts_after", "request_keyed", "agent_named",
    "topic_messages",
)  # fmt: skip


@pytest.fixture
def writer(tmp_path: Path, world: World) -> Writer:
    """The connection that writes, on a new store."""
    return Writer(str(tmp_path / "s.db"), world.runtime())


@pytest.mark.parametrize("name", HOT)
def test_hot_plans(writer: Writer, name: str) -> None:
    """What every claim or submit reads is sought in an index: nothing scans a table, nothing sorts."""
    statement = writer.prepared[name]
    plan = [
        row[3]
        for row in writer.execute(f"explain query plan {statement.text}", (None,) * len(statement.params))
    ]

    slow = re.compile(r"SCAN (?!\(subquery|CONSTANT|json_each)|.*TEMP B-TREE")
    assert [line for line in plan if slow.match(line)] == []
    writer.close()


def test_only_a_recount_walks_a_table_that_grows(writer: Writer) -> None:
    """No statement of a verb but the recount walks tasks, leases, results, jobs, dependencies or the log.
    Those that look a whole store over, or bring one back, are in files of their own and walk everything.
    """
    whole = [catalogue.SQL / f"{name}.sql" for name in ("verify", "verify_blobs", "restore", "doctor")]
    upkeep = {name for path in whole for name in re.findall(r"-- name: (\w+)", path.read_text())}
    walks = re.compile(
        r"SCAN (t|h|r|j|d|e|b|tasks|leases|results|jobs|task_deps|events|briefs)\b(?! VIRTUAL)"
    )
    walkers = {
        name
        for name, statement in writer.prepared.items()
        for row in writer.execute(f"explain query plan {statement.text}", (None,) * len(statement.params))
        if walks.match(row[3])
    }

    assert walkers - upkeep == {"recount", "last_instant"}  # the latter stops at the last event
    writer.close()


def test_a_filtered_claim_seeks_in_each_lane(writer: Writer) -> None:
    """A claim with filters looks at the head of each lane in the lanes' own index."""
    text = writer.prepared["next_ready_in_lanes"].text
    plan = [row[3] for row in writer.execute(f"explain query plan {text}", ("[1,2]", 1))]

    assert any("tasks_ready_in_lane" in line for line in plan)
    assert [line for line in plan if re.match(r"SCAN (?!j )", line)] == []
    writer.close()


def test_a_batch_of_records_seeks_each_head(writer: Writer) -> None:
    """The heads that a batch of writes compares with are sought one by one, by store and key."""
    text = writer.prepared["each_record_head"].text
    plan = [row[3] for row in writer.execute(f"explain query plan {text}", ('[["s","k"]]',))]

    assert [line for line in plan if "record_heads" in line or " h " in line] == [
        "SEARCH h USING PRIMARY KEY (store=? AND key=?)"
    ]
    writer.close()


def test_columns_must_be_the_rows_fields(tmp_path: Path) -> None:
    """A statement whose columns differ from its struct's fields refuses to start."""
    (tmp_path / "a.sql").write_text("-- name: wrong\n-- row: Scalar\n-- Not a value.\nselect 1 as other;\n")
    statements = catalogue.load(tmp_path)
    connection = apsw.Connection(":memory:")

    with pytest.raises(ValueError, match=r"wrong gives \('other',\), its row has \('value',\)"):
        prepare(connection, connection.cursor(), remember=False, statements=statements)


def test_a_name_is_used_once(tmp_path: Path) -> None:
    """A statement defined twice refuses to load."""
    (tmp_path / "a.sql").write_text("-- name: x\n-- One.\nselect 1;\n-- name: x\n-- Two.\nselect 2;\n")

    with pytest.raises(ValueError, match="x is defined twice"):
        catalogue.load(tmp_path)


def test_a_dialect_replaces_by_name(tmp_path: Path) -> None:
    """A dialect's folder replaces a statement by its name, and one that replaces nothing refuses to load."""
    (tmp_path / "other").mkdir()
    other = Dialect("other", "$", (("cross join", "join"),))
    (tmp_path / "a.sql").write_text("-- name: x\n-- One.\nselect :b, :a, :b;\n")
    (tmp_path / "other" / "a.sql").write_text("-- name: x\n-- Two.\nselect :a;\n")
    assert catalogue.load(tmp_path)["x"].text == "select ?1, ?2, ?1"
    assert catalogue.load(tmp_path)["x"].bind({"a": 1, "b": 2}) == (2, 1)
    assert catalogue.load(tmp_path, other)["x"].params == ("a",)
    (tmp_path / "other" / "b.sql").write_text("-- name: y\n-- Three.\nselect 1;\n")

    with pytest.raises(ValueError, match=r"other replaces statements that do not exist: \['y'\]"):
        catalogue.load(tmp_path, other)
