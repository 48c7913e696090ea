"""`records` and `feeds`: documents kept under a key, and documents followed."""

from __future__ import annotations

import json
import signal

from cli.conftest import PATIENCE_SECONDS


def test_put_and_get(cli, store) -> None:
    """A value is given in place, from a file or from standard input, and printed bare; --json prints the
    version.
    """
    cli("records", "put", "facts", "capital", '{"is": "Paris"}')
    cli("records", "put", "facts", "capital", "-", "--expected-version", "1", input=b'["Rome", "\\u00e9"]')

    assert cli("records", "get", "facts", "capital").stdout == '["Rome","é"]\n'
    assert cli.json("records", "get", "facts", "capital", "--version", "1")["value"] == {"is": "Paris"}
    assert [one["version"] for one in cli.json("records", "history", "facts", "capital")["versions"]] == [
        1,
        2,
    ]
    assert cli("records", "stores").stdout == "facts\n"
    refused = cli("records", "put", "facts", "capital", "1", code=1)
    assert refused.stderr == "error: version_conflict: the record is at version 2\n"
    assert "not_found" in cli("records", "get", "facts", "absent", code=1).stderr


def test_lists(cli, store) -> None:
    """Lists and histories show a line for each version, and how to go on."""
    assert "No such records" in cli("records", "list", "s").stdout
    assert "Write a record" in cli("records", "stores").stdout
    for n in range(3):
        store.put_record("s", f"k{n}", {"n": n})
    store.put_record("s", "k0", 1, 1)

    said = cli("records", "list", "s", "--prefix", "k", "--limit", "2")
    assert said.stderr == "More: --after k1\n"
    assert [one["key"] for one in cli.json("records", "list", "s", "--after", "k1")["records"]] == ["k2"]
    said = cli("records", "history", "s", "k0", "--limit", "1")
    assert '{"n":0}' in said.stdout
    assert said.stderr == "More: --after 1\n"


def test_a_batch(cli, store, tmp_path) -> None:
    """A file of writes, one a line or in an array, is written all or none."""
    writes = [{"store": "s", "key": f"k{n}", "value": n} for n in range(3)]
    lines = tmp_path / "writes.jsonl"
    lines.write_text("\n".join(map(json.dumps, writes)))

    assert len(cli.json("records", "put-batch", str(lines))["records"]) == 3
    refused = cli("records", "put-batch", "-", input=json.dumps(writes[::-1]).encode(), code=1)
    assert refused.stderr == "error: version_conflict: writes[0]: the record is at version 1\n"


def test_feeds(cli, store) -> None:
    """A publication prints its cursor; a poll shows what follows a cursor, or that there is nothing."""
    assert "Nothing here" in cli("feeds", "list").stdout
    assert cli("feeds", "publish", "f", '{"a": 1}').stdout == "1\n"
    assert cli("feeds", "publish", "f", "2").stdout == "2\n"

    assert '{"a":1}' in cli("feeds", "poll", "f").stdout
    page = cli.json("feeds", "poll", "f", "--after", "1")
    assert ([one["payload"] for one in page["items"]], page["next"]) == ([2], 2)
    assert cli("feeds", "poll", "f", "--after", "2").stdout == "Nothing after 2.\n"
    assert cli.json("feeds", "list")["feeds"][0]["head"] == 2


def test_following_a_feed(cli, store) -> None:
    """With --follow, each item is a line, also what is published later, until Ctrl-C."""
    store.publish_feed("f", "first")
    with cli.process("feeds", "poll", "f", "--follow", "--json") as reader:
        seen = [json.loads(reader.stdout.readline())]
        for n in range(3):
            store.publish_feed("f", n)
            seen.append(json.loads(reader.stdout.readline()))
        reader.send_signal(signal.SIGINT)
        assert reader.wait(PATIENCE_SECONDS) == 0
    assert [(one["cursor"], one["payload"]) for one in seen] == [(1, "first"), (2, 0), (3, 1), (4, 2)]
