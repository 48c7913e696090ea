"""Changing who there is: adding, moving and retiring agents, and giving ids to those who have none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from tessera.errors import InvalidRequest, InvalidState, Unavailable
from tessera.messages import addresses, agents, collisions, forms, lock
from tessera.messages.agents import Agent, Book, Subject
from tessera.messages.boxes import Boxes
from tessera.messages.catalog import Catalog
from tessera.messages.disk import Folder
from tessera.messages.errors import AmbiguousAgent, LedgerDamaged

_FOLDERS_MAX: Final = 1_000  # of one identity on one host


def add(catalog: Catalog, bus_address: str, name: str | None = None, id: str | None = None) -> Subject:
    """Declare a new agent at `HOST.ADDRESS`, with boxes and an id of its own (a UUIDv7 unless one is given).

    The address may have been another agent's that has moved or retired. Raises `InvalidRequest`,
    `InvalidState` for an address or id in use, `Unavailable`.
    """
    host, address = split(bus_address)
    with _changing(catalog) as (root, book):
        _require_free(book, host, address)
        new_id = id or forms.dashed(catalog.runtime.new_id(""))
        agent = Agent(id=new_id, host=host, identity=_identity(book, host, address),
                      address=address, name=name)  # fmt: skip
        if (fault := agent.fault()) is not None:
            raise InvalidRequest(fault)
        if any(one.agent.known_id == new_id for one in book.subjects):
            raise InvalidState(f"the id {new_id!r} is in use")
        subject = Subject(agent, host, agent.identity)
        with (
            root.make_sub(agents.AGENTS, sync=True) as hosts,
            hosts.make_sub(host, sync=True) as folder,
            folder.make_sub(subject.folder, sync=True) as home,
            Boxes.make(home, sync=True),
        ):
            home.create(agents.DECLARATION, agents.declaration(agent))
        return subject


def move(catalog: Catalog, wanted: str, bus_address: str) -> Subject:
    """Give an agent another address on its host; its id, folder and history stay.

    Raises `NotFound`, `AmbiguousAgent`, `InvalidRequest` for another host, `InvalidState`, `Unavailable`.
    """
    host, address = split(bus_address)
    with _changing(catalog) as (_, book):
        subject = addresses.resolve(book, wanted, catalog.path)
        if subject.agent.retired:
            raise InvalidState(f"agent {subject.agent.known_id} is retired")
        if host != subject.agent.host:
            raise InvalidRequest(f"agent {subject.agent.known_id} lives on host {subject.agent.host!r}")
        _require_free(book, host, address, but=subject)
        return _declare(catalog, subject, msgspec.structs.replace(subject.agent, address=address))


def retire(catalog: Catalog, wanted: str) -> Subject:
    """Take an agent out of service: its address is free, its id and all its mail stay. Again changes nothing.

    Raises `NotFound`, `AmbiguousAgent`, `Unavailable`.
    """
    with _changing(catalog) as (_, book):
        subject = addresses.resolve(book, wanted, catalog.path)
        return _declare(catalog, subject, msgspec.structs.replace(subject.agent, retired=True))


def migrate_ids(catalog: Catalog) -> list[Subject]:
    """Give every agent that has none its id, and tell which of them changed.

    An agent's id becomes the bytes by which it was known, `<host>.<identity>`. Where a live agent keeps them,
    a retired one gets a UUIDv7, and the collision is recorded before any agent changes. Interrupted, it goes
    on with the ids it recorded. Raises `AmbiguousAgent` before any write where nobody can say who keeps them;
    `LedgerDamaged`, `Unavailable`.
    """
    with _changing(catalog) as (root, book):
        if book.faults:
            raise LedgerDamaged(f"not every agent can be read: {book.faults[0]}")
        contested = collisions.read(root)
        fresh = _fresh_ids(catalog, book, contested)
        known = {legacy: frozenset(given) for legacy, given in contested.items()}
        for subject, new_id in fresh.items():
            legacy = subject.agent.legacy_identity
            if new_id != legacy:
                known[legacy] = known.get(legacy, frozenset()) | {new_id}
        if known != contested:
            with root.make_sub(collisions.CONTROL, sync=True) as control:
                control.replace(collisions.COLLISIONS, collisions.encode(known))
            catalog.runtime.reach("message.collisions")
        return [
            _declare(catalog, subject, msgspec.structs.replace(subject.agent, id=new_id))
            for subject, new_id in fresh.items()
        ]


def split(bus_address: str) -> tuple[str, str]:
    """`HOST.ADDRESS` in its two parts: the host ends at the first dot. Raises `InvalidRequest`."""
    host, dot, address = bus_address.partition(".")
    if not (dot and forms.is_address(host) and forms.is_address(address)):
        raise InvalidRequest(f"{bus_address!r} is no HOST.ADDRESS of dotted words of a-z, 0-9 and -")
    return host, address


@contextmanager
def _changing(catalog: Catalog) -> Iterator[tuple[Folder, Book]]:
    """The catalog's folder and its agents, while nobody else changes them."""
    try:
        root = catalog.make()
        with lock.exclusive(root, catalog.runtime):
            yield root, agents.read_book(root)
    except OSError as error:
        raise Unavailable(f"the catalog {catalog.path} cannot be changed: {error.strerror}") from error


def _require_free(book: Book, host: str, address: str, but: Subject | None = None) -> None:
    for one in book.subjects:
        if one != but and one.agent.bus_address == f"{host}.{address}":
            raise InvalidState(f"the address {host}.{address} is {one.agent.known_id}'s")


def _identity(book: Book, host: str, address: str) -> str:
    """A folder's name for a new agent: its first address, or that and a number where another one began."""
    taken = {one.folder for one in book.subjects if one.host_folder == host}
    taken |= {one.agent.identity for one in book.subjects if one.agent.host == host}
    names = (address, *(f"{address}~{number}" for number in range(2, _FOLDERS_MAX)))
    return next(name for name in names if name not in taken)


def _fresh_ids(catalog: Catalog, book: Book, contested: collisions.Contested) -> dict[Subject, str]:
    """The id that each agent without one gets. Those recorded by an interrupted migration are used first."""
    used = {one.agent.id for one in book.subjects if one.agent.id is not None}
    fresh: dict[Subject, str] = {}
    for legacy in sorted({one.agent.legacy_identity for one in book.subjects if one.agent.id is None}):
        without = [one for one in book.subjects if one.agent.id is None
                   and one.agent.legacy_identity == legacy]  # fmt: skip
        live = [one for one in without if not one.agent.retired]
        keepers = live or ([] if legacy in used or legacy in contested else without)
        if len(keepers) > 1 or (live and legacy in used):
            places = ", ".join(one.place for one in without)
            raise AmbiguousAgent(f"nobody can say who keeps the id {legacy!r}: {places}")
        keeper = next(iter(keepers), None)
        recorded = sorted(contested.get(legacy, frozenset()) - used)
        for subject in without:
            if subject == keeper:
                fresh[subject] = legacy
            else:
                fresh[subject] = recorded.pop() if recorded else forms.dashed(catalog.runtime.new_id(""))
    return fresh


def _declare(catalog: Catalog, subject: Subject, agent: Agent) -> Subject:
    if (fault := agent.fault()) is not None:
        raise InvalidRequest(fault)
    if agent != subject.agent:
        with catalog.folder(subject) as home:
            home.replace(agents.DECLARATION, agents.declaration(agent))
    return Subject(agent, subject.host_folder, subject.folder)
