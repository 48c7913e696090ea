"""Append two messages to a topic of a store, in a process that may die."""

from __future__ import annotations

import sys
from functools import partial

from tessera.acts.act import carry_out
from tessera.lite.local import LocalLog
from tessera.rules.grants import OWNER
from tessera.runtime import real_runtime
from tessera.storage.direct import DirectEngine

if __name__ == "__main__":
    engine = DirectEngine(sys.argv[1], real_runtime())
    for content in (b"1", b"2"):
        carry_out(LocalLog().append("0.0.4711", content), engine, OWNER, partial(bytes))
