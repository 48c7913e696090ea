"""The pages say what is true: generated ones are up to date, links lead somewhere, examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_pasted import PASTED

import tessera
from docs.generate import pages
from tessera.testing import serving

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *(page for name in ("docs", "conformance", "examples", "deploy", "interop", "src")
                           for page in (ROOT / name).rglob("*.md"))]
)  # fmt: skip


def test_generated_pages_are_up_to_date() -> None:
    """What `make docs` would write is what is there."""
    stale = [path.name for path, text in pages().items() if path.read_text(encoding="utf-8") != text]

    assert stale == [], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file or a heading of the repository has a target."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in headings(path)):
            broken.append(target)

    assert broken == []


@pytest.mark.parametrize("room", ["lite", "messages", "wake"])
def test_each_room_names_all_of_its_modules(room: str) -> None:
    """The page of a room beside the queue says of each of its modules what it is."""
    folder = ROOT / "src" / "tessera" / room
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    named = set(re.findall(r"`(\w+)(?:\.py)?`", (folder / "README.md").read_text(encoding="utf-8")))

    assert modules - named == set()


def test_glossary_is_in_order() -> None:
    """The glossary's words stand in the order of the alphabet, each once."""
    table = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("## Forms")[0]
    words = [word.lower() for word in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]]

    assert words == sorted(set(words))


def headings(page: Path) -> set[str]:
    """The anchors of a page, as its readers' tools make them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
ELSEWHERE = {ROOT / name for name, *_ in PASTED}  # where these run, with the shell around them


@pytest.mark.parametrize(
    "page",
    [page for page in GUIDES if page not in ELSEWHERE and "```python" in page.read_text()],
    ids=lambda page: page.name,
)
def test_python_examples_run(page: Path, tmp_path: Path) -> None:
    """The Python of a page runs, in order, in an empty folder with a service beside it."""
    with tessera.open(str(tmp_path / "served.db")) as owner, serving(tmp_path / "served.db") as service:
        key = owner.issue_key(scopes=["admin"]).key
        _run(page, tmp_path, {**os.environ, "TESSERA_STORE": service.url, "TESSERA_KEY": key})


def test_mail_example_runs_again(tmp_path: Path) -> None:
    """The Python of the mail guide runs a second time in the same folder."""
    for _ in range(2):
        _run(ROOT / "docs" / "guides" / "message-ledger.md", tmp_path, dict(os.environ))


def test_mail_shell_lines_run(tmp_path: Path) -> None:
    """The first lines of the mail guide run as they stand, and the answer reaches its message."""
    guide = (ROOT / "docs" / "guides" / "message-ledger.md").read_text(encoding="utf-8")
    block = re.findall(r"(?:^    .*\n)+", guide, re.MULTILINE)[0]
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", re.sub(r"^    ", "", block, flags=re.MULTILINE)],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
             "TESSERA_CATALOG": str(tmp_path / "catalog")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "to dev4.reviewer  pull 7" in ran.stdout
    assert "# 2 agent(s), 0 not whole" in ran.stdout


def _run(page: Path, tmp_path: Path, env: dict[str, str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if not re.match(r"# \w+\.py\n", block)]  # a file, see test_pasted.py
    assert blocks
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
