"""What finding costs, and what being found costs a write.

    python -m benchmarks.recall [RECORDS]

Every record is a reflex too, so that both searches have all of them to look through. Each query is a common,
a middling or a rare word (in every second record, in one of a hundred, in one of ten thousand), in turns with
the bare FTS5 match of the same word on the same file: rowid and rank, the best ten. Writes are durable puts
of one record, in turns with the same put that tells the index nothing. Ratios are of p95s and of medians.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import apsw

import tessera
from tessera.limits import WRITES_PER_BATCH_MAX
from tessera.names import REFLEXES
from tessera.steps import recall

RECORDS = 100_000
ROUNDS = 400
PUTS = 400
WORDS = 20_000
CLASSES = {"common": 2, "middling": 100, "rare": 10_000}  # the word is in one of so many records
TABLES = {"search_nouns": "nouns_words", "match_reflex": "reflexes_words"}


def filled(path: Path, records: int) -> tessera.Tessera:
    """A store with so many records of about 300 bytes, with the three words among them."""
    store = tessera.open(str(path))
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(WORDS)
    ]
    weights = [1 / (place + 10) for place in range(WORDS)]
    for first in range(0, records, WRITES_PER_BATCH_MAX):
        some = range(first, min(first + WRITES_PER_BATCH_MAX, records))
        store.put_records([_reflex(number, chance.choices(words, weights, k=40)) for number in some])
    return store


def _reflex(number: int, words: list[str]) -> dict[str, Any]:
    named = [f"{name}word" for name, every in CLASSES.items() if number % every == 0]
    trigger = " ".join([*words[:6], *named])
    value = {"trigger": trigger, "step": {"run": " ".join(words[6:])}}
    return {"store": REFLEXES, "key": f"reflex-{number}", "value": value}


def timed(call: Callable[[], Any]) -> float:
    """Microseconds."""
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1e6


def p95(times: list[float]) -> float:
    """The time that nineteen of twenty stay under."""
    return quantiles(times, n=20)[-1]


def finding(store: tessera.Tessera, path: Path) -> None:
    """Searches beside bare matches."""
    bare = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    bare.execute("pragma cache_size = -4096")
    for verb, table in TABLES.items():
        statement = f"select rowid, rank from {table} where {table} match ? order by rank limit 10"
        for name in CLASSES:
            ask, asked = partial(getattr(store, verb), f"{name}word"), (statement, (f'"{name}word"',))
            ours, theirs = [], []
            for _ in range(ROUNDS if name != "common" else ROUNDS // 16):
                theirs.append(timed(lambda asked=asked: bare.execute(*asked).fetchall()))
                ours.append(timed(ask))
            bare_says = f"bare p50 {median(theirs):9,.0f} us, p95 {p95(theirs):9,.0f} us"
            ours_say = f"ours p50 {median(ours):9,.0f} us, p95 {p95(ours):9,.0f} us"
            print(f"{verb:13} {name:9} {bare_says}   {ours_say}   {p95(ours) / p95(theirs):5.2f} x")
    for query in ("comonword", "raerword rotate", "a trigger that nothing is like at all"):
        times = [timed(partial(store.match_reflex, query)) for _ in range(20)]
        print(f"match_reflex {query!r}: p50 {median(times):,.0f} us")


def writing(store: tessera.Tessera) -> None:
    """Puts with and without the index."""
    keep, numbers = recall.keep_record, itertools.count()
    times: dict[bool, list[float]] = {True: [], False: []}
    text = " ".join(f"word{place * 7919 % 5_003}" for place in range(40))
    for place in range(2 * PUTS):
        indexed = place % 2 == 0
        recall.keep_record = keep if indexed else lambda tx, row, brief="", together=1: None
        times[indexed].append(
            timed(
                lambda: store.put_record("notes", f"note-{next(numbers)}", {"title": "A note", "text": text})
            )
        )
    recall.keep_record = keep
    with_it, without = median(times[True]), median(times[False])
    print(
        f"put_record: with the index {with_it:,.0f} us, without {without:,.0f} us   {with_it / without:.2f} x"
    )


def main() -> None:
    """Fill a store once, then measure."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    with tempfile.TemporaryDirectory(prefix="recall-", dir=".") as folder:
        path = Path(folder) / "store.db"
        begun = time.perf_counter()
        with filled(path, records) as store:
            print(f"{records:,} records written in {time.perf_counter() - begun:.0f} s")
            finding(store, path)
            writing(store)


if __name__ == "__main__":
    main()
