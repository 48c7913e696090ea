"""The chores, and the repository they are about. Nothing of Tessera is in here.

Each chore is what a coding agent would be asked for, done here by a few lines so that it runs anywhere.
To let an agent do it, have `patched` start one there (`claude -p`, `codex exec`) and return its diff.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

CHORES: Final[dict[str, Callable[[str], str]]] = {
    "trailing-space": lambda text: re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE),
    "final-newline": lambda text: text if text.endswith("\n") else f"{text}\n",
    "old-name": lambda text: text.replace("colour_of", "color_of"),
}
FILES: Final = {
    "paint.py": "def colour_of(thing):  \n    return thing.paint\n",
    "shop.py": "from paint import colour_of\n\nprint(colour_of)",
    "README": "A shop for paint.\n",
}


def git(repository: Path, *arguments: str, stdin: str | None = None) -> str:
    """What git says. Raises with its words when it refuses."""
    identity = ["-c", "user.name=Swarm", "-c", "user.email=swarm@example.invalid"]
    ran = subprocess.run(
        ["git", *identity, *arguments],
        cwd=repository,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip())
    return ran.stdout


def new_repository(path: Path) -> Path:
    """A repository with something to tidy in it."""
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    for name, text in FILES.items():
        (path / name).write_text(text)
    git(path, "add", ".")
    git(path, "commit", "--quiet", "--message", "Open the shop")
    return path


def survey(repository: Path, chore: str) -> list[str]:
    """The files that a chore would change. Only reads."""
    names = git(repository, "ls-files").splitlines()
    texts = {name: (repository / name).read_text() for name in names}
    return [name for name, text in texts.items() if CHORES[chore](text) != text]


def patched(repository: Path, chore: str, names: list[str]) -> str:
    """The chore done in a worktree of its own, as a diff. The repository's own files stay as they are."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git(repository, "worktree", "add", "--quiet", "--detach", str(tree))
        try:
            for name in names:
                (tree / name).write_text(CHORES[chore]((tree / name).read_text()))
            return git(tree, "diff")
        finally:
            git(repository, "worktree", "remove", "--force", str(tree))


def applied(repository: Path, chore: str, diff: str) -> str:
    """The diff committed on main; the commit's name. What another chore changed meanwhile is merged."""
    git(repository, "apply", "--3way", "--index", "-", stdin=diff)
    git(repository, "commit", "--quiet", "--message", f"Chore: {chore}")
    return git(repository, "rev-parse", "--short", "HEAD").strip()
