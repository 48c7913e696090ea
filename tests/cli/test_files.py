"""`blobs`, `buckets`, `objects`: files in and out of the store."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
import sys

import pytest

DATA = bytes(range(256)) * 5_000
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def file(tmp_path):
    """A file of more than one chunk."""
    path = tmp_path / "data.bin"
    path.write_bytes(DATA)
    return path


def test_put_and_get_a_blob(cli, store, file, tmp_path) -> None:
    """A file and standard input are stored under their hash, which is printed bare, and come back whole."""
    assert cli("blobs", "put", str(file)).stdout == SHA256 + "\n"
    assert cli.json("blobs", "put", "-", input=DATA) == {"sha256": SHA256, "size": len(DATA)}
    assert cli.json("blobs", "show", SHA256) == {"sha256": SHA256, "size": len(DATA)}

    assert cli("blobs", "get", SHA256).stdout_bytes == DATA
    out = tmp_path / "out.bin"
    said = cli("blobs", "get", SHA256, "--output", str(out))
    assert out.read_bytes() == DATA
    assert said.stdout.startswith("wrote 1,280,000 bytes: all of 1,280,000, verified against " + SHA256)
    facts = cli.json("blobs", "get", SHA256, "-o", str(out), "--range", "1-2")
    assert out.read_bytes() == DATA[1:3]
    assert (facts["first"], facts["length"], facts["size"], facts["partial"]) == (1, 2, len(DATA), True)
    assert "pieces" not in facts


@pytest.mark.parametrize(
    ("part", "expected"),
    [("0-0", DATA[:1]), ("10-19", DATA[10:20]), ("1279999-", DATA[-1:]), ("-5", DATA[-5:]),
     ("5-9999999", DATA[5:]), ("0-", DATA), ("-9999999", DATA)],
)  # fmt: skip
def test_a_range(cli, store, part, expected) -> None:
    """`A-B` has both ends, `A-` goes to the end, `-N` is the last N bytes."""
    store.put_blob(DATA)
    store.put_object("nouns", "k", DATA)

    assert cli("blobs", "get", SHA256, "--range", part).stdout_bytes == expected
    assert cli("objects", "get", "nouns", "k", "--range", part).stdout_bytes == expected


@pytest.mark.parametrize(
    "part",
    [
        "",
        "5",
        "a-b",
        "5-4",
        "-",
        "--1",
        "-0",
        "-00",
        "1-2,3-4",
        "\u0660-\u0664",
        "1-" + "9" * 5_000,
        "0x1-2",
        " 0-1",
    ],
)
def test_no_range(cli, store, part) -> None:
    """Anything else is wrong usage and writes nothing."""
    store.put_blob(DATA)

    refused = cli("blobs", "get", SHA256, "--range", part, code=2)
    assert (refused.stdout, "--range" in refused.stderr) == ("", True)


def test_refusals_reach_the_shell(cli, store, tmp_path) -> None:
    """Unknown blobs, ranges beyond the end and large files are the store's to refuse; no file is left."""
    store.put_blob(DATA)
    out = tmp_path / "out.bin"

    unknown = cli("blobs", "get", "0" * 64, "-o", str(out), code=1)
    assert unknown.stderr.startswith("error: not_found: ")
    beyond = cli("blobs", "get", SHA256, "--range", "1280000-", "-o", str(out), code=1)
    assert beyond.stderr.startswith("error: range_not_satisfiable: ")
    assert not out.exists()
    assert cli("blobs", "put", str(tmp_path / "absent"), code=2).stdout == ""
    mixed = cli("blobs", "get", SHA256, "--json", code=2)
    assert "--output" in mixed.stderr
    large = cli("blobs", "put", "-", input=bytes((16 << 20) + 1), code=1)
    assert large.stderr.startswith("error: invalid_request: ")


def test_an_existing_file_is_replaced_only_by_whole_bytes(cli, store, tmp_path) -> None:
    """A file is written beside its name first: a refused get leaves what was there."""
    store.put_blob(DATA)
    store._door._engine._writer.connection.execute("update chunks set bytes = x'00' where chunk = 1")
    out = tmp_path / "out.bin"
    out.write_bytes(b"before")

    damaged = cli("blobs", "get", SHA256, "-o", str(out), code=1)
    assert damaged.stderr.startswith("error: unavailable: ")
    assert out.read_bytes() == b"before"
    left = [name for name in os.listdir(tmp_path) if not name.startswith("store.db")]
    assert left == ["out.bin"]


def test_buckets(cli, store) -> None:
    """A bucket is made, described and listed, as a table and as JSON."""
    made = cli.json("buckets", "define", "drafts", "--description", "before review")
    assert (made["name"], made["description"], made["objects"], made["bytes"]) == (
        "drafts",
        "before review",
        0,
        0,
    )
    store.put_object("drafts", "k", b"x" * 1_234)

    listed = cli.json("buckets", "list")["buckets"]
    assert [one["name"] for one in listed if one["objects"]] == ["drafts"]
    text = cli("buckets", "list").stdout
    assert "drafts" in text
    assert "1,234" in text
    assert cli("buckets", "define", "drafts").stdout.count("before review") == 1


def test_objects(cli, store, file, tmp_path) -> None:
    """Versions are put with their type, shown, listed, and read back by number."""
    first = cli.json("objects", "put", "nouns", "k", "-", "--content-type", "text/plain", input=b"first")
    assert (first["version"], first["size"], first["content_type"]) == (1, 5, "text/plain")
    lost = cli("objects", "put", "nouns", "k", str(file), code=1)
    assert lost.stderr.startswith("error: version_conflict: the object is at version 1")
    assert "2" in cli("objects", "put", "nouns", "k", str(file), "--expected-version", "1").stdout

    assert cli("objects", "get", "nouns", "k", "--version", "1").stdout_bytes == b"first"
    assert cli("objects", "get", "nouns", "k").stdout_bytes == DATA
    assert cli.json("objects", "show", "nouns", "k", "--version", "1") == first
    assert cli.json("objects", "show", "nouns", "k")["sha256"] == SHA256
    history = cli.json("objects", "history", "nouns", "k", "--limit", "1")
    assert ([one["version"] for one in history["versions"]], history["next"]) == ([1], 1)
    assert "More: --after 1" in cli("objects", "history", "nouns", "k", "--limit", "1").stderr
    assert cli.json("objects", "history", "nouns", "k", "--after", "1")["versions"][0]["version"] == 2


def test_a_place_that_cannot_be_written(cli, store) -> None:
    """A folder that is not there is a line, and names the file that was asked for."""
    store.put_object("nouns", "k", DATA)
    refused = cli("objects", "get", "nouns", "k", "--output", "absent/file", code=1)
    said = "--output: cannot write absent/file: No such file or directory"
    assert refused.stderr == f"error: invalid_request: {said}\n"


def test_list_pages(cli, store) -> None:
    """A list goes on after a key, of those that begin with a literal prefix."""
    for key in ("a_b", "axb", "a_c"):
        store.put_object("nouns", key, b"")

    page = cli.json("objects", "list", "nouns", "--prefix", "a_", "--limit", "1")
    assert ([one["key"] for one in page["objects"]], page["next"]) == (["a_b"], "a_b")
    rest = cli.json("objects", "list", "nouns", "--prefix", "a_", "--after", "a_b")
    assert ([one["key"] for one in rest["objects"]], rest["next"]) == (["a_c"], None)
    assert cli("objects", "list", "nouns", "--limit", "1").stderr == "More: --after a_b\n"
    assert cli("objects", "list", "kits").stdout == "No such objects.\n"


@pytest.mark.parametrize("on_terminal", [False, True])
def test_progress_is_for_terminals(url, store, file, on_terminal) -> None:
    """On a terminal a bar on stderr runs to its end; elsewhere stderr stays empty."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tessera.cli.main", "blobs", "put", str(file)]
    env = {**os.environ, "TESSERA_STORE": url, "COLUMNS": "80", "TERM": "xterm"}
    with open(theirs, "wb") as stderr:
        ran = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, check=True, timeout=60,
            stderr=stderr if on_terminal else subprocess.PIPE,
        )  # fmt: skip
        said = os.read(ours, 65_536).decode() if on_terminal else ran.stderr.decode()
    os.close(ours)

    assert ran.stdout.decode() == SHA256 + "\n"
    assert ("100%" in said, said == "") == (on_terminal, not on_terminal)
