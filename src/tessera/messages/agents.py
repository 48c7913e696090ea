"""Who there is: the agents of a catalog, each declared by an `agent.json` in a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct

from tessera.messages import forms, records
from tessera.messages.disk import Folder
from tessera.messages.errors import LedgerDamaged

DECLARATION: Final = "agent.json"
AGENTS: Final = "agents"


class Agent(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `agent.json` says. Without an id it is a legacy agent, known by `<host>.<identity>`."""

    id: str | None = None
    host: str
    identity: str
    address: str | None = None
    name: str | None = None
    retired: bool = False

    @property
    def legacy_identity(self) -> str:
        """How the agent was known before ids."""
        return f"{self.host}.{self.identity}" if self.host else self.identity

    @property
    def known_id(self) -> str:
        """Its id; before the migration, the bytes that will be its id unless another agent keeps them."""
        return self.id or self.legacy_identity

    @property
    def local_address(self) -> str:
        """Its address on its host."""
        return self.address or self.identity

    @property
    def bus_address(self) -> str | None:
        """Its address as others write it; None once it is retired."""
        return None if self.retired else f"{self.host}.{self.local_address}"

    @property
    def shown(self) -> str:
        """How people see it."""
        return self.bus_address or self.known_id

    def fault(self) -> str | None:
        """What is wrong with the declaration, if anything."""
        if self.id is not None and not forms.is_id(self.id):
            return "id: 1 to 255 printable ASCII characters without space, slash or double dot"
        if not forms.is_address(self.host):
            return "host: dotted words of a-z, 0-9 and -"
        if not forms.is_component(self.identity):
            return "identity: one step of a path"
        if self.address is not None and not forms.is_address(self.address):
            return "address: dotted words of a-z, 0-9 and -"
        if self.name is not None and forms.breaks_line(self.name):
            return "name: control characters and line breaks are refused"
        return None


@dataclass(frozen=True, slots=True)
class Subject:
    """An agent and the place of its folder: `agents/<host folder>/<folder>`."""

    agent: Agent
    host_folder: str
    folder: str

    @property
    def place(self) -> str:
        """The folder's path within the catalog."""
        return f"{AGENTS}/{self.host_folder}/{self.folder}"


@dataclass(slots=True)
class Book:
    """All agents of a catalog at one instant, and the declarations that cannot be read."""

    subjects: list[Subject] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def parse(raw: bytes, where: str) -> Agent:
    """The agent that a declaration declares. Raises `LedgerDamaged` for one that does not hold together."""
    try:
        agent = msgspec.convert(records.strict_object(raw), Agent)
    except (ValueError, RecursionError) as error:
        raise LedgerDamaged(f"reading {where}: {error}") from error
    if (fault := agent.fault()) is not None:
        raise LedgerDamaged(f"reading {where}: {fault}")
    return agent


def declaration(agent: Agent) -> bytes:
    """The bytes of `agent.json`: readable, since people look at it."""
    return msgspec.json.format(msgspec.json.encode(agent), indent=2) + b"\n"


def read_book(root: Folder) -> Book:
    """Every agent of a catalog. One bad declaration is named and leaves the others as they are."""
    book = Book()
    for host_folder, folder, opened in _folders(root, book):
        with opened:
            where = opened.where(DECLARATION)
            try:
                raw = opened.read_or_none(DECLARATION)
                if raw is not None:
                    book.subjects.append(Subject(parse(raw, where), host_folder, folder))
            except OSError as error:
                book.faults.append(f"reading {where}: {error.strerror}")
            except LedgerDamaged as error:
                book.faults.append(error.detail)
    return book


def _folders(root: Folder, book: Book) -> Iterator[tuple[str, str, Folder]]:
    """Each folder that could hold an agent, open. A link in its place is no folder."""
    agents = root.sub_or_none(AGENTS)
    if agents is None:
        return
    with agents:
        for host_folder in filter(forms.is_component, agents.names()):
            try:
                host = agents.sub(host_folder)
            except NotADirectoryError:
                continue
            except OSError as error:
                book.faults.append(f"opening {agents.where(host_folder)}: {error.strerror}")
                continue
            with host:
                for folder in filter(forms.is_component, host.names()):
                    try:
                        yield host_folder, folder, host.sub(folder)
                    except NotADirectoryError:
                        continue
                    except OSError as error:
                        book.faults.append(f"opening {host.where(folder)}: {error.strerror}")
