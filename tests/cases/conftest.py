"""The cases stand on the bench of the verbs, and on the terminals of the wake room."""

from __future__ import annotations

from verbs.conftest import bench, new_store
from wake.conftest import daemon, folder, room, tmux

__all__ = ["bench", "daemon", "folder", "new_store", "room", "tmux"]
