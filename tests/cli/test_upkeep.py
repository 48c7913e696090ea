"""`verify`, `backup`, `restore`, `doctor` on the command line."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

import tessera


def spoil(url: str, what: str) -> None:
    """Change the store behind its back, from another process."""
    code = "import apsw, sys; apsw.Connection(sys.argv[1]).execute(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, url, what], check=True)


def test_verify(cli, enqueue) -> None:
    """A sound store exits 0, with a line for each check."""
    enqueue()

    assert cli("verify").stdout.splitlines()[-1] == "The store is sound."
    assert "briefs      1          0" in cli("verify").stdout
    answer = cli.json("verify")
    assert (answer["ok"], answer["findings"]) == (True, [])


def test_verify_finds(cli, url, enqueue) -> None:
    """An unsound one exits 1 and names the first of what is wrong, in words and in JSON."""
    task_id = enqueue()
    spoil(url, "update briefs set sha256 = 'x'")

    shown = cli("verify", code=1).stdout
    assert "The store is NOT sound:" in shown
    assert f"briefs: task {task_id} keeps x of its brief" in shown
    (finding,) = cli.json("verify", code=1)["findings"]
    assert (finding["check"], finding["thing"]) == ("briefs", f"task {task_id}")


def test_verify_makes_no_store(cli, tmp_path) -> None:
    """Verifying or backing up what is not there is refused and makes nothing."""
    path = str(tmp_path / "no.db")
    for words in (["verify"], ["backup", "b.db"]):
        assert "not_found: there is no store at" in cli(*words, "--store", path, code=1).stderr
    assert not Path(path).exists()


def test_a_bar_on_a_terminal(url, store, enqueue) -> None:
    """On a terminal a bar shows on standard error how far it is; in a pipe nothing does."""
    enqueue()
    command = [sys.executable, "-m", "tessera.cli.main", "verify", "--store", url]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            block = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(ours)
    out, _ = process.communicate()
    piped = subprocess.run(command, capture_output=True, check=True)

    assert process.returncode == 0
    assert b"topics" in shown  # the last check, which the end always shows
    assert b"The store is sound." in out
    assert piped.stderr == b""


def test_backup_and_restore(cli, url, store, enqueue, tmp_path) -> None:
    """A backup tells how far it goes; a restore to a new place tells what was done and what to look after."""
    task_id = enqueue()
    lease = store.claim("q", "w")
    file, place = str(tmp_path / "b.db"), str(tmp_path / "new.db")
    assert "bytes, verified, up to event 3 of" in cli("backup", file).stdout
    shown = cli("restore", file, "--store", place).stdout

    assert "Leases ended: 1." in shown
    assert "tokens handed out before are refused" in shown
    assert "tessera keys list" in shown
    with tessera.open(place) as restored:
        assert restored.claim("q", "w").fencing_token > lease.fencing_token
        assert restored.task(task_id).attempts == 2
    assert cli.json("verify", "--store", place)["ok"]


def test_force(cli, store, enqueue, tmp_path) -> None:
    """What exists is replaced only with `--force`, in JSON as in words; a store in use never."""
    enqueue()
    file, place = str(tmp_path / "b.db"), str(tmp_path / "new.db")
    cli("backup", file)
    assert "invalid_request: " in cli("backup", file, code=1).stderr
    assert cli.json("backup", file, "--force")["verified"]["ok"]
    cli("restore", file, "--store", place)
    assert "exists" in cli("restore", file, "--store", place, code=1).stderr
    assert cli.json("restore", file, "--store", place, "--force")["replaced"]
    assert "unavailable: the store is in use" in cli("restore", file, "--force", code=1).stderr


def test_unsound(cli, url, enqueue, tmp_path) -> None:
    """What is not sound is copied and restored only with `--unsound`, and the answer says so."""
    enqueue()
    spoil(url, "update counts set dead = 1")
    file, place = str(tmp_path / "b.db"), str(tmp_path / "new.db")
    assert "counts 1 dead" in cli("backup", file, code=1).stderr
    assert "NOT sound" in cli("backup", file, "--unsound").stdout
    assert "counts 1 dead" in cli("restore", file, "--store", place, code=1).stderr
    assert "is restored from" in cli("restore", file, "--unsound", "--store", place).stdout
    spoil(url, "update counts set dead = 0")


def test_restore_over_a_damaged_store(cli, store, tmp_path) -> None:
    """A damaged file is put aside, and the answer says where."""
    file, place = str(tmp_path / "b.db"), tmp_path / "new.db"
    cli("backup", file)
    place.write_bytes(b"\x5a" * 9_000)

    shown = cli("restore", file, "--force", "--store", str(place)).stdout
    assert f"is now {place}.damaged-1." in shown


def test_doctor(cli, url, store, enqueue) -> None:
    """A store that is well exits 0, one that needs somebody exits 1 and says what to do."""
    enqueue()
    assert cli("doctor").stdout.endswith("Nothing needs you to act.\n")
    assert cli.json("doctor")["ok"]

    shown = cli("doctor", "--store", f"{url}.no", code=1).stdout
    assert f"act  file: there is no store at {url}.no" in shown
    assert "      -> " in shown
    assert shown.endswith("Something needs you to act.\n")


@pytest.mark.parametrize("command", ["verify", "backup b.db", "doctor"])
def test_a_damaged_store_is_told_by_all(tmp_path, cli, command) -> None:
    """On a file that is no database every command says so and exits 1."""
    path = tmp_path / "text.db"
    path.write_text("a shopping list " * 1_000)
    result = cli(*command.split(), "--store", str(path), code=1)

    assert "not a SQLite file" in result.stderr + result.stdout
    with pytest.raises(apsw.NotADBError):
        apsw.Connection(str(path)).execute("select * from sqlite_schema")


def test_a_backup_is_a_file(cli, enqueue, tmp_path) -> None:
    """A device or pipe is not replaced by a backup, whatever is forced."""
    enqueue()
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "/dev/null"):
        refused = cli("backup", name, "--force", code=1)
        assert f"{name} is a device, a pipe or a socket: name a file" in refused.stderr
    assert Path("/dev/null").is_char_device()
    assert (tmp_path / "pipe").is_fifo()


def test_a_new_epoch_asks_at_a_terminal(store, enqueue, tmp_path) -> None:
    """At a terminal a new epoch begins only if it is said so; a no changes nothing."""
    enqueue()
    lease, url = store.claim("q", "w"), str(tmp_path / "copy.db")
    store.backup(url)
    for said, code in ((b"n\n", 1), (b"y\n", 0)):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "tessera.cli.main", "new-epoch", "--store", url]
        with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asked:
            os.write(ours, said)
            _, words = asked.communicate()
        os.close(ours)
        os.close(theirs)
        assert b"End the store's leases" in words
        assert asked.returncode == code
        with tessera.open(url) as again:
            assert (again.task(lease.task_id).state == "ready") == (code == 0)
