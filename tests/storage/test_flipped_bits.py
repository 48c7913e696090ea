"""Bits that a bad disk flips anywhere in the pages that hold a blob."""

from __future__ import annotations

import hashlib
import random
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import tessera
from tessera.testing import World

PAGE = 4_096
FLIPS = 150


def test_a_flipped_bit_is_never_given_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whichever bit of a blob's pages is flipped, in its bytes or in what holds them together, a read gives
    the right bytes or is refused as `unavailable`, and a refusal is logged.
    """
    path, world, chance = tmp_path / "s.db", World(), random.Random(20261130)
    data = hashlib.shake_256(b"whole").digest(1_200_000)
    with tessera.open(str(path), runtime=world.runtime()) as store:
        name = store.put_blob(data)
    with closing(apsw.Connection(str(path))) as file:
        of_chunks = "from dbstat where name in ('chunks', 'sqlite_autoindex_chunks_1')"
        pages = [row[0] for row in file.execute(f"select pageno {of_chunks}")]
        trees = [row[0] for row in file.execute(f"select pageno {of_chunks} and pagetype != 'overflow'")]
    whole, refused = path.read_bytes(), 0
    assert len(pages) > 290
    for number in range(FLIPS):
        page = chance.choice(trees if number % 3 == 0 else pages)
        byte = chance.randrange(4 if number % 5 == 0 else PAGE)  # the first four lead to the next page
        spoiled = bytearray(whole)
        spoiled[(page - 1) * PAGE + byte] ^= 1 << chance.randrange(8)
        path.write_bytes(spoiled)
        caplog.clear()
        with tessera.open(str(path), runtime=world.runtime()) as store:
            try:
                assert store.get_blob(name) == data
                assert store.get_blob(name, 5, 9) == data[5:9]
            except tessera.TesseraError as refusal:
                code, refused = refusal.code, refused + 1
                assert (code, bool(caplog.records)) == ("unavailable", True)
    assert FLIPS // 2 < refused < FLIPS
