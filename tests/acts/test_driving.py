"""Acts on an event loop: the same steps, awaited; nothing that holds the loop up."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tessera.acts.act import Look, Run, Take, Work, carry_out_on_loop
from tessera.acts.put import put_blob, put_object
from tessera.errors import TesseraError
from tessera.models import BlobRef, GetBlob, Nothing, PutBlob, PutObject
from tessera.rules.grants import OWNER
from tessera.storage.loop import LoopEngine
from tessera.testing import World
from tessera.verbs.blobs import blob_meta, get_blob
from tessera.verbs.reap import reap

MIB = 1 << 20


def on_loop(path: Path, story: Callable[[LoopEngine], Coroutine[Any, Any, None]]) -> None:
    """Tell a story on an event loop with an engine of its own."""

    async def told() -> None:
        engine = LoopEngine(str(path / "store.db"), World().runtime(), asyncio.get_running_loop())
        try:
            await story(engine)
        finally:
            engine.close()

    asyncio.run(told())


def arriving(
    data: bytes, size: int = 65_536, *, then: Exception | None = None
) -> Callable[[], Awaitable[bytes]]:
    """A body as a socket gives it: in small pieces, a turn of the loop between two."""
    pieces = iter([data[place : place + size] for place in range(0, len(data), size)])

    async def take() -> bytes:
        await asyncio.sleep(0)
        piece = next(pieces, b"")
        if not piece and then is not None:
            raise then
        return piece

    return take


@pytest.mark.parametrize("size", [0, 1, MIB, 2 * MIB + 5])
def test_a_put_on_a_loop(tmp_path: Path, size: int) -> None:
    """Bytes that arrive in small pieces are stored in large chunks and come back whole."""
    data = hashlib.shake_256(b"x").digest(size)

    async def story(engine: LoopEngine) -> None:
        blob = await carry_out_on_loop(put_blob(PutBlob()), engine, OWNER, arriving(data))
        assert (blob.sha256, blob.size) == (hashlib.sha256(data).hexdigest(), size)
        content = await engine.read(get_blob, OWNER, GetBlob(blob.sha256))
        assert b"".join(content.pieces) == data
        assert len(content.pieces) == -(-size // MIB)

    on_loop(tmp_path, story)


def test_puts_share_the_loop(tmp_path: Path) -> None:
    """Many puts and other verbs go on side by side; hashing happens in other threads."""
    threads = set()

    async def story(engine: LoopEngine) -> None:
        computed = engine.compute

        def noted(work: Callable[[], Any]) -> asyncio.Future[Any]:
            def run() -> Any:
                threads.add(threading.get_ident())
                return work()

            return computed(run)

        engine.compute = noted
        puts = [
            carry_out_on_loop(
                put_object(PutObject("nouns", f"k{n}")), engine, OWNER, arriving(bytes([n]) * MIB * 2)
            )
            for n in range(8)
        ]
        metas = await asyncio.gather(*puts)
        assert [meta.version for meta in metas] == [1] * 8
        assert len({meta.sha256 for meta in metas}) == 8

    on_loop(tmp_path, story)
    assert threads
    assert threading.get_ident() not in threads


def test_one_of_many_wins_on_a_loop(tmp_path: Path) -> None:
    """Of puts that all expect to be the first version exactly one is; the others learn of it."""

    async def story(engine: LoopEngine) -> None:
        puts = [
            carry_out_on_loop(put_object(PutObject("nouns", "k")), engine, OWNER, arriving(bytes([n]) * MIB))
            for n in range(8)
        ]
        answers = await asyncio.gather(*puts, return_exceptions=True)
        lost = [answer for answer in answers if isinstance(answer, TesseraError)]
        assert [refusal.code for refusal in lost] == ["version_conflict"] * 7
        assert {refusal.extra["current_version"] for refusal in lost} == {1}

    on_loop(tmp_path, story)


def test_a_client_that_goes_away(tmp_path: Path) -> None:
    """If the body breaks off in an error its chunks are left to the next reap; if the task is cancelled, to a
    later one; nothing of either can be read.
    """
    gone = ConnectionResetError("the client has gone")

    async def story(engine: LoopEngine) -> None:
        with pytest.raises(ConnectionResetError):
            await carry_out_on_loop(put_blob(PutBlob()), engine, OWNER, arriving(bytes(2 * MIB), then=gone))
        staged = asyncio.Event()

        async def stalls() -> bytes:
            if staged.is_set():
                await asyncio.Event().wait()
            staged.set()
            return bytes(MIB)

        task = asyncio.ensure_future(carry_out_on_loop(put_blob(PutBlob()), engine, OWNER, stalls))
        await staged.wait()
        while not await engine.submit(uploads):
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await engine.submit(reap, OWNER, Nothing())
        for size in (MIB, 2 * MIB):
            with pytest.raises(TesseraError, match="no such blob"):
                await engine.read(blob_meta, OWNER, BlobRef(hashlib.sha256(bytes(size)).hexdigest()))

    on_loop(tmp_path, story)


def uploads(tx: Any, runtime: Any) -> bool:
    """Whether the second put has staged its chunk: the first one's upload is due at once, so it is ahead."""
    return tx.one("upload_left_behind", now=tx.now + 10**12) is not None


def test_an_act_is_plain_steps() -> None:
    """An act needs no engine to be looked at: it says what it wants, and is told what came of it."""
    act = put_blob(PutBlob())
    assert isinstance(next(act), Take)
    work = act.send(b"x" * MIB)
    assert isinstance(work, Work)
    work.compute()
    staged = act.send(None)
    assert isinstance(staged, Run)
    assert staged.verb.__name__ == "stage_chunk"
    assert isinstance(act.send("u_1"), Take)
    look = act.send(b"")
    assert isinstance(look, Look)
    assert look.ask == BlobRef(hashlib.sha256(b"x" * MIB).hexdigest())
    act.close()
