"""Which row of the surface a path means. Made from the table, so that a verb that is there is served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from tessera.errors import InvalidRequest
from tessera.models import PutRecords, SubmitBatch, TaskBatch
from tessera.surface import Row
from tessera.verbs.guarded import Guarded

_HEAD = {"GET": "HEAD"}
BATCHES: Final = (TaskBatch, SubmitBatch, PutRecords)  # asks so large that few run at once


class Target(Struct, frozen=True):
    """A row, and the verb behind it, ready to run. One object for each row, so that calls of one verb can be
    run as one.
    """

    row: Row
    run: Guarded


class Route(Struct, frozen=True):
    """A path's template and what its methods mean. Of several rows for one method a flag in the query picks
    one; without a flag it is the row that has none.
    """

    template: str
    targets: dict[str, dict[str | None, Target]]

    @property
    def allow(self) -> str:
        """The methods that the path answers, as the `Allow` header lists them."""
        heads = [_HEAD[method] for method in self.targets if method in _HEAD]
        return ", ".join([*sorted([*self.targets, *heads]), "OPTIONS"])

    def target(self, method: str, fields: dict[str, str]) -> Target | None:
        """What a method means here, or None. HEAD is GET whose body stays behind. A flag that picks a row is
        taken out of the query's fields.
        """
        targets = self.targets.get("GET" if method == "HEAD" else method)
        if targets is None:
            return None
        flags = [flag for flag in targets if flag is not None and _is_on(flag, fields)]
        if len(flags) > 1:
            raise InvalidRequest(f"{' and '.join(sorted(flags))} exclude each other")
        return targets[flags[0] if flags else None]


def _is_on(flag: str, fields: dict[str, str]) -> bool:
    """Whether a query sets a flag: `?flag`, `?flag=true` or `?flag=1`."""
    value = fields.pop(flag, None)
    if value in (None, "false", "0"):
        return False
    if value not in ("", "true", "1"):
        raise InvalidRequest(f"{flag}: true or false")
    return True


class Routes:
    """Every path of the surface. Where a path of fixed words and a template both fit, the words win."""

    def __init__(self, rows: Iterable[Row]) -> None:
        by_template: dict[str, dict[str, dict[str | None, Target]]] = {}
        for row in rows:
            if row.path is not None:
                methods = by_template.setdefault(row.path, {})
                methods.setdefault(row.method, {})[row.flag] = Target(row, row.run())
        routes = [Route(template, targets) for template, targets in by_template.items()]
        self._fixed = {route.template: route for route in routes if "{" not in route.template}
        self._open: dict[int, list[tuple[list[str], Route]]] = {}
        for route in sorted(routes, key=lambda route: route.template.count("{")):
            if "{" in route.template:
                parts = route.template.split("/")
                self._open.setdefault(len(parts), []).append((parts, route))

    def __iter__(self) -> Iterator[Route]:
        yield from self._fixed.values()
        for several in self._open.values():
            for _, route in several:
                yield route

    def by_verb(self) -> dict[str, Target]:
        """What there is by the verbs' names: the same objects, so that any door's calls run as one."""
        flags = (flag for route in self for flag in route.targets.values())
        return {target.row.name: target for targets in flags for target in targets.values()}

    def find(self, raw_path: str) -> tuple[Route, dict[str, str]] | None:
        """The route of a path that is still percent-encoded, and what stands for its names. Refuses a part
        that is no UTF-8.
        """
        if (route := self._fixed.get(raw_path)) is not None:
            return route, {}
        parts = raw_path.split("/")
        for names, route in self._open.get(len(parts), ()):
            named = matched(names, parts)
            if named is not None:
                return route, named
        return None


def matched(names: list[str], parts: list[str]) -> dict[str, str] | None:
    """What stands for the names of a template in a path of as many parts, or None if they differ."""
    found = {}
    for name, part in zip(names, parts, strict=True):
        if name.startswith("{"):
            if not part:
                return None
            found[name[1:-1]] = part
        elif name != part:
            return None
    return {name: _decoded(part) for name, part in found.items()}


def _decoded(part: str) -> str:
    if "%" not in part:
        return part
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("the path is no UTF-8") from error
