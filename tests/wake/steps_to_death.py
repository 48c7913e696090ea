"""A service in this process on a scripted clock, told to do one thing, so that it dies at a point of that
thing.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from wake.conftest import Room

from tessera.runtime import real_runtime
from tessera.testing import World


class Mortal(World):
    """A scripted world whose crash points are real."""

    def runtime(self) -> Any:
        return replace(super().runtime(), reach=real_runtime().reach)


def main(folder: str, what: str, pane: str = "") -> None:
    """Lead up to `what`, then do it. Whatever was answered is on stdout."""
    room = Room(Path(folder), Mortal())
    if what == "tmux":
        room.call("register", name="t", repos=["api"], kind="tmux", target=json.loads(pane))
        room.send(body="the text")
        room.step()
        return
    aside = room.folder / "aside"
    aside.mkdir(exist_ok=True)
    target = {"path": str((aside if what == "defer" else room.folder) / "f.txt")}
    old = room.file_endpoint(delivery_max_attempts=9, target=target)
    sent = room.send(body="the text")
    print(sent["message_id"], flush=True)  # noqa: T201 - the test reads it
    if what == "defer":
        aside.rmdir()
        for _ in range(302):
            room.pass_seconds(2)
    elif what == "retry":
        room.call("detach", endpoint_id=old["endpoint_id"])
        for _ in range(9):
            room.pass_seconds(301)
        room.call("retry", message_id=sent["message_id"])
    elif what == "rebind":
        room.call("detach", endpoint_id=old["endpoint_id"])
        room.send(endpoint_id=room.file_endpoint("g")["endpoint_id"], body="the text")
    else:
        room.step()
        room.pass_seconds(31)
        room.call("ack", message_id=sent["message_id"])


if __name__ == "__main__":
    main(*sys.argv[1:])
