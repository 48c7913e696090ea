"""What one source file says about itself, read from its syntax tree. Pure: bytes in, plain facts out."""

from __future__ import annotations

import ast
from typing import TypedDict

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# What makes a second way through a function. An estimate: it counts branches, not whether they can be taken.
BRANCHES = (
    ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.comprehension, ast.match_case,
    ast.Assert,
)  # fmt: skip


class Function(TypedDict):
    """One function: its full name, how long it is, how many ways lead through it."""

    name: str
    lines: int
    complexity: int


class Facts(TypedDict):
    """What is known of a module. Facts travel as a task's output, so all of this is plain JSON."""

    module: str
    lines: int
    functions: int
    classes: int
    public: int  # the module itself and its public functions, methods and classes
    documented: int  # how many of those have a docstring
    longest: Function | None
    hardest: Function | None
    imports: list[str]
    problem: str | None  # why the file could not be read as Python, if so


def study(source: bytes, module: str, is_package: bool = False) -> Facts:
    """The facts of one module. A file that is no Python is a fact too, not a failure."""
    facts = Facts(
        module=module, lines=len(source.splitlines()), functions=0, classes=0, public=0, documented=0,
        longest=None, hardest=None, imports=[], problem=None,
    )  # fmt: skip
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        facts["problem"] = type(error).__name__
        return facts

    found = Definitions(module)
    found.visit(tree)
    documentable: list[ast.Module | Definition] = [tree, *found.public]
    functions = [_function(name, node) for name, node in found.all if not isinstance(node, ast.ClassDef)]
    facts["functions"] = len(functions)
    facts["classes"] = len(found.all) - len(functions)
    facts["public"] = len(documentable)
    facts["documented"] = sum(ast.get_docstring(node, clean=False) is not None for node in documentable)
    facts["longest"] = max(functions, key=lambda function: function["lines"], default=None)
    facts["hardest"] = max(functions, key=lambda function: function["complexity"], default=None)
    facts["imports"] = imports(tree, module, is_package)
    return facts


class Definitions(ast.NodeVisitor):
    """Every function and class with its full name, and those among them that are public: reachable from the
    module by names without a leading underscore, so nothing inside a function is.
    """

    def __init__(self, module: str) -> None:
        self.all: list[tuple[str, Definition]] = []
        self.public: list[Definition] = []
        self._name = module
        self._is_public = True

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class may hold public names."""
        self._enter(node, holds_public=True)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function's own definitions are its private matter."""
        self._enter(node, holds_public=False)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same for a coroutine."""
        self._enter(node, holds_public=False)

    def _enter(self, node: Definition, holds_public: bool) -> None:
        outside = self._name, self._is_public
        self._name = f"{self._name}.{node.name}"
        is_public = self._is_public and not node.name.startswith("_")
        self.all.append((self._name, node))
        if is_public:
            self.public.append(node)
        self._is_public = is_public and holds_public
        self.generic_visit(node)
        self._name, self._is_public = outside


def imports(tree: ast.AST, module: str, is_package: bool = False) -> list[str]:
    """The absolute names a module imports, sorted. What `from a import b` means, the module `a.b` or a name
    in `a`, cannot be told from here: inside the module's own package both parts are kept for whoever knows.
    """
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, is_package)
            own = base.split(".")[0] == module.split(".")[0]
            names.update(
                f"{base}.{alias.name}" if own and alias.name != "*" else base for alias in node.names
            )
    return sorted(names - {"__future__"})


def complexity(function: ast.AST) -> int:
    """An estimate of McCabe's number: one, and one more for each branch."""
    branches = 1
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            branches += 1
        elif isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
    return branches


def _function(name: str, node: Definition) -> Function:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return Function(name=name, lines=lines, complexity=complexity(node))


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """The module that a `from … import` names; each dot beyond the first goes one package up."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    above = parts[: len(parts) - node.level + is_package]
    return ".".join([*above, *([node.module] if node.module else [])])
