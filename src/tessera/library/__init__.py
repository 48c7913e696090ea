"""The store in your own process: one method per verb, synchronous, safe from any thread."""

from tessera.library.store import Door, Tessera

__all__ = ["Door", "Tessera"]
