"""Named statements from .sql files.

A file is a list of blocks: `-- name: x`, then `-- row: XRow` when it answers with rows (a struct of
`rows/`), an optional `-- remembered until: y, z`, one comment sentence, the statement.
A remembered statement is answered from memory until one of the named statements writes. Parameters are
`:name` in the file and positions at run time. A dialect's folder may replace a statement by the same name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import ModuleType

from tessera import rows

SQL = Path(__file__).parent / "sql"
FOLDERS = (SQL, SQL.parent.parent / "lite" / "sql")  # a store's; the rooms that use it keep their own
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_ROW = re.compile(r"^-- row: (\w+)\n", re.MULTILINE)
_REMEMBERED = re.compile(r"^-- remembered until: ([\w, ]+)\n", re.MULTILINE)
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")

Bind = Callable[[dict[str, object]], tuple[object, ...]]
Structs = Mapping[str, type[rows.Row]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as its file has it; an engine compiles it."""

    name: str
    text: str
    params: tuple[str, ...]
    bind: Bind
    row: type[rows.Row] | None  # None: it writes
    remembered_until: tuple[str, ...]  # the statements that change its answer; none: never remembered


def load(
    folder: Path | None = None, dialect: str | None = None, module: ModuleType = rows
) -> dict[str, Statement]:
    """Every statement of a folder, or of a store's folders, by name; `module` has the structs of their rows.
    A name used twice, or a dialect's statement that replaces nothing, refuses to load.
    """
    folders = FOLDERS if folder is None else (folder,)
    blocks = _blocks(folders)
    if dialect is not None:
        replacements = _blocks([folder / dialect for folder in folders])
        if unknown := replacements.keys() - blocks.keys():
            raise ValueError(f"{dialect} replaces statements that do not exist: {sorted(unknown)}")
        blocks |= replacements
    structs = {
        name: struct
        for name, struct in vars(module).items()
        if isinstance(struct, type) and issubclass(struct, rows.Row)
    }
    return {name: _statement(name, text, structs) for name, text in blocks.items()}


def _blocks(folders: Iterable[Path]) -> dict[str, str]:
    blocks: dict[str, str] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.sql"))):
        _, *parts = _NAME.split(path.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in blocks:
                raise ValueError(f"statement {name} is defined twice")
            blocks[name] = text
    return blocks


def _statement(name: str, text: str, structs: Structs) -> Statement:
    row, remembered = _ROW.search(text), _REMEMBERED.search(text)
    lines = (line.strip() for line in text.splitlines() if line and not line.startswith("--"))
    sql = " ".join(lines).rstrip("; ")
    params = tuple(dict.fromkeys(_PARAMETER.findall(sql)))
    places = {param: f"?{place}" for place, param in enumerate(params, 1)}
    return Statement(
        name=name,
        text=_PARAMETER.sub(lambda found: places[found[1]], sql),
        params=params,
        bind=_binder(params),
        row=structs[row[1]] if row else None,
        remembered_until=tuple(one.strip() for one in remembered[1].split(",")) if remembered else (),
    )


def _binder(params: tuple[str, ...]) -> Bind:
    """From keyword arguments to positions, in C wherever there are two or more."""
    if not params:
        return lambda given: ()
    if len(params) == 1:
        only = params[0]
        return lambda given: (given[only],)
    return itemgetter(*params)
