"""Who an endpoint of an old row was: legacy identities that a migration gave anew, and what follows.

Before ids, an agent was known by `<host>.<identity>`; the migration made these bytes its id. Where a retired
agent and a live one shared them, the live one kept them and the retired one got a new id: in a row of
version 1 they then denote either, and only the owner of the row knows itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from tessera.messages import forms, records
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged

CONTROL: Final = ".st2"  # the format's own folder in a catalog
COLLISIONS: Final = "legacy-id-collisions.json"
COLLISIONS_SCHEMA: Final = "st2.catalog-legacy-id-collisions.v1"
MIGRATION: Final = "agent-id-migration.json"

Contested: TypeAlias = dict[str, frozenset[str]]  # legacy identity -> the ids given in its stead


class Collision(Struct, frozen=True, forbid_unknown_fields=True,
                rename={"legacy_bus_identity": "legacyBusIdentity"}):  # fmt: skip
    """One legacy identity, the agent that kept it, and the ids that others got."""

    legacy_bus_identity: str
    keeper: str
    reassigned: list[str]


class Collisions(Struct, frozen=True, forbid_unknown_fields=True):
    """`legacy-id-collisions.json`."""

    schema: Literal["st2.catalog-legacy-id-collisions.v1"]
    entries: list[Collision]


class Reassigned(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One agent that got an id in its legacy identity's stead."""

    legacy_bus_identity: str
    kept_by_agent_id: str
    kept_by_plane: str
    reassigned_agent_id: str
    reassigned_host: str
    reassigned_identity: str
    reassigned_plane: str


class Migration(Struct, frozen=True, forbid_unknown_fields=True,
                rename={"migrated_at_ms": "migratedAtMs"}):  # fmt: skip
    """`agent-id-migration.json`, the other public form of the same."""

    schema: Literal["st2.agent-id-migration.v1"]
    migrated_at_ms: int
    reassigned: list[Reassigned]


@dataclass(frozen=True, slots=True)
class Party:
    """One end of a message. `id` is the authority to answer; None if nobody can say who was meant."""

    kind: str
    value: str
    id: str | None

    @property
    def shown(self) -> str:
        """The value, or the bytes marked as what they are: an address of the past, and nobody's id."""
        return self.value if self.id is not None else f"{self.value} (historical address)"


def attribute(value: str, kind: object, version: int, owner: str | None, contested: Contested) -> Party:
    """Who an endpoint of a row was. `owner` is the id of the agent whose state holds the row, if this end is
    that agent, else None.
    """
    kind = kind if isinstance(kind, str) else "agent"
    if kind != "agent" or version != 1 or value not in contested:
        return Party(kind, value, value)
    return Party(kind, value if owner is None else owner, owner)


def read(root: Folder) -> Contested:
    """All legacy identities given anew, out of both files. Raises `LedgerDamaged` unless each is absent or
    whole: what cannot be read is never taken for empty.
    """
    try:
        control = root.sub_or_none(CONTROL)
        if control is None:
            return {}
        with control:
            collisions = _parsed(control, COLLISIONS, Collisions)
            migration = _parsed(control, MIGRATION, Migration)
    except OSError as error:
        raise LedgerDamaged(f"reading collision metadata: {error.strerror}") from error
    pairs = [
        *((one.legacy_bus_identity, given) for one in getattr(collisions, "entries", ())
          for given in one.reassigned),
        *((one.legacy_bus_identity, one.reassigned_agent_id) for one in getattr(migration, "reassigned", ())),
    ]  # fmt: skip
    contested: dict[str, set[str]] = {}
    for legacy, given in pairs:
        if not (forms.is_id(legacy) and forms.is_id(given)):
            raise LedgerDamaged(f"collision metadata names an id that is none: {legacy!r}, {given!r}")
        contested.setdefault(legacy, set()).add(given)
    return {legacy: frozenset(given) for legacy, given in contested.items()}


def encode(contested: Contested) -> bytes:
    """The bytes of `legacy-id-collisions.json`."""
    entries = [Collision(legacy, legacy, sorted(given)) for legacy, given in sorted(contested.items())]
    return msgspec.json.encode(Collisions(COLLISIONS_SCHEMA, entries))


def _parsed(control: Folder, name: str, kind: type[Any]) -> Any:
    raw = control.read_or_none(name)
    if raw is None:
        return None
    try:
        return msgspec.convert(records.strict_object(raw), kind)
    except (ValueError, RecursionError) as error:
        raise LedgerDamaged(f"reading {control.where(name)}: {error}") from error
