"""What a put has staged: unseen until it is published, and swept when nobody publishes it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import dump, refused

from tessera.acts.act import Run, Take, Work
from tessera.acts.put import put_blob
from tessera.errors import TesseraError
from tessera.limits import UPLOAD_SECONDS
from tessera.models import PutBlob
from tessera.rules.grants import OWNER
from tessera.steps.blobs import sweep

VERBS = ()
MIB = 1 << 20


def staged(bench: Bench, chunks: int) -> Iterator[int]:
    """Begin a put through a file and stage so many chunks; yields after each, and publishes at the end."""
    act = put_blob(PutBlob())
    step, taken = next(act), 0
    engine = bench.store._door._engine
    try:
        while True:
            if isinstance(step, Take):
                yield taken
                step = act.send(b"x" * MIB if taken < chunks else b"")
                taken += 1
            elif isinstance(step, Work):
                step = act.send(step.compute())
            else:
                run = engine.submit if isinstance(step, Run) else None
                came = run(step.verb, OWNER, step.ask).result() if run else engine.read(
                    step.verb, OWNER, step.ask
                )  # fmt: skip
                step = act.send(came)
    except StopIteration as end:
        blob = end.value
    assert blob.sha256 == hashlib.sha256(b"x" * MIB * chunks).hexdigest()


def left(bench: Bench) -> tuple[int, int]:
    """How many uploads and chunks there are."""
    tables = dump(bench.path)
    return len(tables["uploads"]), len(tables["chunks"])


def begun(bench: Bench, chunks: int) -> Iterator[int]:
    """A put that has staged all its chunks and is about to end."""
    put = staged(bench, chunks)
    for taken in put:
        if taken == chunks:
            return put
    raise AssertionError("it ended early")


def test_an_abandoned_put_is_swept_after_an_hour(bench: Bench) -> None:
    """Chunks that nobody publishes stay for an hour after the last of them, then the next reap deletes them
    all, in several transactions, and does not count them as reaped.
    """
    begun(bench, 10)
    bench.world.pass_seconds(UPLOAD_SECONDS - 0.000001)
    bench.store.reap()
    assert left(bench) == (1, 10)

    bench.world.pass_seconds(0.000001)
    bench.world.reached.clear()
    assert bench.store.reap() == 0
    assert left(bench) == (0, 0)
    assert bench.world.reached.count("sweep.written") == 3


def test_every_chunk_gives_another_hour(bench: Bench) -> None:
    """A slow put is not swept as long as its chunks come less than an hour apart."""
    put = staged(bench, 3)
    for _ in put:
        bench.world.pass_seconds(UPLOAD_SECONDS - 1)
        bench.store.reap()

    assert bench.store.get_blob(hashlib.sha256(b"x" * MIB * 3).hexdigest()) == b"x" * MIB * 3
    assert left(bench) == (0, 3)


@pytest.mark.parametrize("ended", [False, True])
def test_a_put_that_comes_back_after_the_sweep(bench: Bench, ended: bool) -> None:
    """A put whose chunks were swept is refused, whether it goes on or ends, and can be read nowhere."""
    put = staged(bench, 8)
    for taken in put:
        if taken == (8 if ended else 5):
            break
    bench.world.pass_seconds(UPLOAD_SECONDS)
    bench.store.reap()

    with pytest.raises(TesseraError, match="send the bytes again") as caught:
        list(put)
    assert (caught.value.code, caught.value.definite) == ("unavailable", True)
    assert dump(bench.path)["blobs"] == []
    bench.store.reap()
    assert left(bench) == (0, 0)


def test_a_sweep_that_was_cut_off_lets_nobody_publish(bench: Bench) -> None:
    """Once a sweep has deleted some chunks of an upload, its put is refused though others are still there."""
    put = begun(bench, 8)
    bench.world.pass_seconds(UPLOAD_SECONDS)
    bench.store._door._engine.submit(lambda tx, runtime: sweep(tx, runtime)).result()
    assert left(bench) == (1, 4)
    with pytest.raises(TesseraError, match="send the bytes again"):
        list(put)
    bench.store.reap()
    assert left(bench) == (0, 0)


def test_two_that_put_the_same(bench: Bench) -> None:
    """Two puts of the same bytes in turns are one blob; what the second staged is left to the sweep."""
    first, second = begun(bench, 2), begun(bench, 2)
    list(first)
    list(second)

    assert [line.type for line in bench.log()].count("blob_stored") == 1
    bench.store.reap()
    assert left(bench) == (0, 2)
    assert len(bench.store.get_blob(hashlib.sha256(b"x" * MIB * 2).hexdigest())) == 2 * MIB


def test_two_that_mend_the_same(bench: Bench) -> None:
    """Two puts that both found a blob damaged mend it once; the other's chunks and the damaged ones go."""
    data = b"x" * MIB * 2
    name = bench.store.put_blob(data)
    engine = bench.store._door._engine
    engine._writer.connection.execute("update chunks set bytes = zeroblob(1048576) where chunk = 1")
    first, second = begun(bench, 2), begun(bench, 2)
    list(first)
    list(second)

    assert bench.store.get_blob(name) == data
    bench.store.reap()
    assert left(bench) == (0, 2)
    assert bench.store.get_blob(name) == data


def test_sweeping_reaches_no_blob(bench: Bench) -> None:
    """A published blob has no time limit, whoever reaps."""
    name = bench.store.put_blob(io.BytesIO(b"kept"))
    bench.world.pass_seconds(10 * UPLOAD_SECONDS)
    bench.store.reap()

    assert bench.store.get_blob(name) == b"kept"


@pytest.mark.parametrize("piece", ["text", None, 5])
def test_a_file_that_gives_no_bytes(bench: Bench, piece: Any) -> None:
    """A file of text, or one that has nothing yet, is refused, at the start and in the middle."""

    class Odd(io.BytesIO):
        def read(self, size: int | None = -1) -> Any:
            return super().read(size) if self.tell() < len(self.getvalue()) else piece

    for before in (b"", b"some"):
        refused(bench, "invalid_request", bench.store.put_blob, Odd(before))
