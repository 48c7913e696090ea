"""Makes `tessera.client.verbs`: the library's verbs for event loops, word for word but for `await`.

Written by hand, the two would drift; made at run time, no type checker would see them.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Final

import tessera
from tessera.library import Tessera
from tessera.library.upkeep import UpkeepVerbs

HOME: Final = Path(tessera.__file__).parent / "client" / "verbs.py"
HEAD: Final = '''\
"""The library's verbs for event loops. Made by `make docs` from `Tessera`. Change it there."""

from __future__ import annotations
'''
OWN: Final = {"as_key", "close", "door"}  # written by hand: they are not verbs


def source() -> str:
    """The text of the module."""
    homes = [
        kind
        for kind in Tessera.__mro__
        if kind.__module__.startswith("tessera.") and kind is not UpkeepVerbs  # no service does those
    ]
    methods = [method for kind in homes for method in _methods(kind)]
    names = {method.name for method in methods}
    for method in methods:
        _Awaits(names).visit(method)
    text = "\n\n    ".join(ast.unparse(_as_async(method)).replace("\n", "\n    ") for method in methods)
    body = (
        f"{HEAD}\n{_imports(homes)}\n\nclass AsyncVerbs:\n"
        '    """Each method is the one of `Tessera` with the same name, to be awaited."""\n\n'
        "    _door: Any\n\n"
        f"    {text}\n"
    )
    return _tidied(body)


def _methods(kind: type) -> list[ast.FunctionDef]:
    [tree] = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    return [
        part
        for part in tree.body
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("__") and part.name not in OWN
    ]


def _imports(homes: list[type]) -> str:
    """All that the modules of these classes import or define for themselves; the linter drops what is too
    much.
    """
    lines: list[str] = []
    for module in dict.fromkeys(kind.__module__ for kind in homes):
        tree = ast.parse(inspect.getsource(sys.modules[module]))
        lines += [ast.unparse(part) for part in tree.body if isinstance(part, ast.Import | ast.ImportFrom)]
        helpers = [part.name for part in tree.body if isinstance(part, ast.FunctionDef)]
        lines += [f"from {module} import {name}" for name in helpers]
    return "\n".join(line for line in dict.fromkeys(lines) if "__future__" not in line)


class _Awaits(ast.NodeTransformer):
    """Puts `await` before each call of the store's own methods."""

    def __init__(self, names: set[str]) -> None:
        self._names = {f"self.{name}" for name in names} | {"self._door.call"}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return ast.Await(node) if ast.unparse(node.func) in self._names else node


def _as_async(method: ast.FunctionDef) -> ast.AsyncFunctionDef:
    parts = {name: getattr(method, name) for name in method._fields if hasattr(method, name)}
    return ast.fix_missing_locations(ast.AsyncFunctionDef(**parts, lineno=0, col_offset=0))


def _tidied(text: str) -> str:
    for arguments in (["check", "--fix", "--select", "F401,I", "-q"], ["format", "-q"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(HOME), "-"]
        text = subprocess.run(  # noqa: S603 - the linter of this very environment
            command, input=text, capture_output=True, text=True, check=True
        ).stdout
    return text
