"""Named statements from .sql files.

A file is a list of blocks: `-- name: x`, then `-- row: XRow` when it answers with rows (a struct of
`rows/`), an optional `-- remembered until: y, z`, one comment sentence, the statement. A remembered
statement is answered from memory until one of the named statements writes. Parameters are `:name` in the
file and positions at run time.

The files are written for SQLite and for every dialect that reads the same words. A dialect's folder replaces
a statement by the same name where its words differ, and its folder `locks` says, again by name, what a verb
runs just before it reads: a statement that locks the rows which the verb is about to decide by. A replacement
with the line `-- rows: as arrays` writes any number of rows at once: each of its parameters, which are those
of the statement that it replaces, is an array of that column's values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter
from pathlib import Path
from types import ModuleType

from tessera import rows

SQL = Path(__file__).parent / "sql"
FOLDERS = (SQL, SQL.parent.parent / "lite" / "sql")  # a store's; the rooms that use it keep their own
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_ROW = re.compile(r"^-- row: (\w+)\n", re.MULTILINE)
_REMEMBERED = re.compile(r"^-- remembered until: ([\w, ]+)\n", re.MULTILINE)
_AS_ROWS = re.compile(r"^-- rows: as arrays\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")

Bind = Callable[[dict[str, object]], tuple[object, ...]]
Structs = Mapping[str, type[rows.Row]]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database wants a statement spelled."""

    folder: str | None  # of its replacements and locks, beside the files
    place: str  # of a parameter, before its number
    words: tuple[tuple[str, str], ...] = ()  # what the files say, and what it says instead


SQLITE = Dialect(None, "?")
# SQLite's `cross join … on` keeps the tables in the order of the text. PostgreSQL's `join` does too on a
# connection that is set so, and its `cross join` knows no `on`.
POSTGRES = Dialect("postgres", "$", (("cross join", "join"),))


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as its file has it; an engine compiles it."""

    name: str
    text: str
    params: tuple[str, ...]
    bind: Bind
    row: type[rows.Row] | None  # None: it writes
    remembered_until: tuple[str, ...]  # the statements that change its answer; none: never remembered
    as_rows: bool = False  # each parameter is an array: of one column of any number of rows
    locks: Statement | None = None  # what a verb, but no look, runs first with the same parameters


def load(
    folder: Path | None = None, dialect: Dialect = SQLITE, module: ModuleType = rows
) -> dict[str, Statement]:  # fmt: skip
    """Every statement of a folder, or of a store's folders, by name; `module` has the structs of their rows.
    A name used twice, or a dialect's statement that replaces or locks for nothing, refuses to load.
    """
    folders = FOLDERS if folder is None else (folder,)
    blocks = _blocks(folders)
    ours = {name: _params(text) for name, text in blocks.items()}
    locks: dict[str, str] = {}
    if dialect.folder is not None:
        replaced = [one / dialect.folder for one in folders]
        replacements, locks = _blocks(replaced), _blocks([one / "locks" for one in replaced])
        if unknown := (replacements.keys() | locks.keys()) - blocks.keys():
            raise ValueError(f"{dialect.folder} replaces statements that do not exist: {sorted(unknown)}")
        blocks |= replacements
    structs = {
        name: struct
        for name, struct in vars(module).items()
        if isinstance(struct, type) and issubclass(struct, rows.Row)
    }
    statements = {name: _statement(name, text, structs, dialect) for name, text in blocks.items()}
    for name, statement in statements.items():
        if statement.as_rows and set(statement.params) != set(ours[name]):
            raise ValueError(f"{name} takes other parameters than what it replaces")
    for name, text in locks.items():
        lock = _statement(f"{name}, locked", text, structs, dialect)
        if unknown := set(lock.params) - set(statements[name].params):
            raise ValueError(f"the lock of {name} asks for more than the statement: {sorted(unknown)}")
        statements[name] = replace(statements[name], locks=lock)
    return statements


@cache
def stores() -> Mapping[str, Statement]:
    """A store's statements for SQLite, read once by a process however many connections it opens."""
    return load()


def _blocks(folders: Iterable[Path]) -> dict[str, str]:
    blocks: dict[str, str] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.sql"))):
        _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in blocks:
                raise ValueError(f"statement {name} is defined twice")
            blocks[name] = text
    return blocks


def _params(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_PARAMETER.findall(_sql(text))))


def _sql(text: str) -> str:
    lines = (line.strip() for line in text.splitlines() if line and not line.startswith("--"))
    return " ".join(lines).rstrip("; ")


def _statement(name: str, text: str, structs: Structs, dialect: Dialect) -> Statement:
    row, remembered = _ROW.search(text), _REMEMBERED.search(text)
    sql = _sql(text)
    for ours, theirs in dialect.words:
        sql = re.sub(rf"\b{ours}\b", theirs, sql)
    params = _params(text)
    places = {param: f"{dialect.place}{place}" for place, param in enumerate(params, 1)}
    return Statement(
        name=name,
        text=_PARAMETER.sub(lambda found: places[found[1]], sql),
        params=params,
        bind=_binder(params),
        row=structs[row[1]] if row else None,
        remembered_until=tuple(one.strip() for one in remembered[1].split(",")) if remembered else (),
        as_rows=_AS_ROWS.search(text) is not None,
    )


def _binder(params: tuple[str, ...]) -> Bind:
    """From keyword arguments to positions, in C wherever there are two or more."""
    if not params:
        return lambda given: ()
    if len(params) == 1:
        only = params[0]
        return lambda given: (given[only],)
    return itemgetter(*params)
