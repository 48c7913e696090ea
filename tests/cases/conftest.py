"""The cases stand on the bench of the verbs."""

from __future__ import annotations

from verbs.conftest import bench, new_store

__all__ = ["bench", "new_store"]
