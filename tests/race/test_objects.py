"""Many that store the next version of one object, and many that store the same bytes."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from pathlib import Path

import pytest

import tessera
from race.crew import at_once, log, processes, rounds

MIB = 1 << 20


@pytest.mark.parametrize("expected", [None, 1])
def test_a_version_has_one_writer(handles: list[tessera.Tessera], expected: int | None) -> None:
    """Of 12 threads that expect the same latest version one stores the next, 11 meet a conflict."""

    def race(number: int) -> None:
        key = f"k{number}"
        if expected is not None:
            handles[0].put_object("kits", key, b"first")
        answers = at_once(12, lambda n: handles[n % 2].put_object("kits", key, b"%d" % n * 1_000, expected))
        (won,) = [n for n, answer in enumerate(answers) if answer != "version_conflict"]
        assert answers[won].version == (expected or 0) + 1
        assert handles[1].get_object("kits", key) == b"%d" % won * 1_000
        assert len(handles[0].object_history("kits", key).versions) == (expected or 0) + 1

    for number in rounds(15):
        race(number)
    kits = next(one for one in handles[0].buckets() if one.name == "kits")
    metas = handles[0].list_objects("kits", limit=1_000).objects
    assert (kits.objects, kits.bytes) == (len(metas), sum(meta.size for meta in metas))


def test_versions_never_go_back(handles: list[tessera.Tessera]) -> None:
    """Readers beside writers never miss an object that was there, see its versions rise, and always get the
    bytes of the version that they were told of.
    """
    handles[0].put_object("kits", "k", b"1")

    def act(n: int) -> list[int]:
        store, seen = handles[n % 2], [1]
        for _ in range(25):
            if n < 4:
                try:
                    meta = store.put_object("kits", "k", b"%d" % (seen[-1] + 1), seen[-1])
                except tessera.TesseraError as conflict:
                    seen.append(conflict.extra["current_version"])
                else:
                    seen.append(meta.version)
            else:
                content = store.object_content("kits", "k")
                assert b"".join(content.pieces) == b"%d" % content.version
                seen.append(content.version)
        return seen

    for seen in at_once(12, act):
        assert isinstance(seen, list)
        assert seen == sorted(seen)
    versions = [meta.version for meta in handles[0].object_history("kits", "k", limit=1_000).versions]
    assert versions == list(range(1, len(versions) + 1))


def test_processes_share_an_object(path: str, tmp_path: Path) -> None:
    """4 processes that store versions of one object leave a history without gap or double: each version is
    the one whose writer was told so.
    """
    with tessera.open(path) as store, processes(4, path, tmp_path) as crew:
        for process in crew:
            process.tell("put", key="k", times=25)
        answers = [answer for process in crew for answer in process.done()]
        won = {answer["version"]: answer["sha256"] for answer in answers if answer != "version_conflict"}
        history = store.object_history("kits", "k", limit=1_000).versions
        assert len(answers) == 100
        assert Counter(map(str, answers))["version_conflict"] == 100 - len(history)
        assert won == {meta.version: meta.sha256 for meta in history}
        assert [meta.version for meta in history] == list(range(1, len(history) + 1))


def test_the_same_bytes_at_once(handles: list[tessera.Tessera]) -> None:
    """12 threads that store the same bytes at the same time, at once or through files, make one blob."""

    def race(number: int) -> None:
        data = bytes([number]) * (MIB + 7)
        answers = at_once(12, lambda n: handles[n % 2].put_blob(data if n % 3 else io.BytesIO(data)))
        assert set(answers) == {hashlib.sha256(data).hexdigest()}
        assert handles[0].get_blob(answers[0]) == data

    for number in rounds(5):
        race(number)
    assert len(log(handles[0], "blob_stored")) == len(rounds(5))
    handles[1].reap()
    connection = handles[0]._door._engine._writer.connection
    assert connection.execute("select count(*) from chunks").get == 2 * len(rounds(5))
    assert connection.execute("select count(*) from uploads").get == 0


def test_sweeps_beside_puts(handles: list[tessera.Tessera]) -> None:
    """Reaping without a pause takes nothing away from puts that are under way."""

    def act(n: int) -> list[str]:
        if n < 2:
            for _ in range(60):
                handles[n].reap()
            return []
        bodies = [bytes([n, m]) * MIB for m in range(3)]
        return [handles[n % 2].put_blob(io.BytesIO(body)) for body in bodies]

    for names in at_once(6, act):
        for name in names:
            assert hashlib.sha256(handles[0].get_blob(name)).hexdigest() == name
