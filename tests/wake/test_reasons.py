"""Why a wake waits: every word that the room gives as a reason has a sentence, and people get to read it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wake.conftest import Daemon, until

from tessera.wake import reasons, states

ROOT = Path(__file__).parents[2]
WAKE = ROOT / "src" / "tessera" / "wake"
GIVEN = {"Result": 1, "Standing": 1, "_end": 1, "_fail": 3}  # call -> which argument is the reason
ANSWERS = {"ready", "why_not", "_why_not", "empty_composer", "_run"}  # what they return is one
LINES = "import sys\nwhile True: print('got:', input('> '))"


def _texts(node: ast.AST | None) -> Iterator[str]:
    """The texts that an expression may be, each f-string up to what it fills in."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            yield text.rstrip("_: ")
        case ast.Attribute(value=ast.Name(id="states"), attr=name):
            yield getattr(states, name)
        case ast.IfExp():
            yield from _texts(node.body)
            yield from _texts(node.orelse)


def _given() -> set[str]:
    found: set[str] = set()
    for path in [*WAKE.glob("*.py"), *(WAKE / "endpoints").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                place = GIVEN.get(getattr(node.func, "id", getattr(node.func, "attr", "")))
                found.update(_texts(node.args[place]) if place and len(node.args) > place else ())
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in ANSWERS:
                for part in ast.walk(node):
                    found.update(_texts(part.value) if isinstance(part, ast.Return) else ())
    return found


def test_every_reason_has_a_sentence() -> None:
    """What endpoints and the dispatcher give as a reason is in the table; an f-string by its beginning."""
    given = _given()

    assert {"line_mode", "draft", "pane_in_mode", "command_exit", "cannot append", "lease_lost"} <= given
    ended = {f"endpoint_{state}" for state in states.ENDED}
    assert (given - {"endpoint"} | ended) <= set(reasons.SENTENCES)


def test_the_guide_has_the_table() -> None:
    """The guide lists exactly these reasons with exactly these sentences."""
    guide = (ROOT / "docs" / "guides" / "wake.md").read_text()
    table = guide.split("## Why a wake waits", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE)

    assert rows == list(reasons.SENTENCES.items())


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("draft", "draft. Something that nobody sent"),
        ("command_exit_-9: out of memory", "command_exit_-9: out of memory. The endpoint's command failed"),
        ("no server running on /t", "no server running on /t"),
    ],
)
def test_a_reason_and_what_the_system_said(reason: str, sentence: str) -> None:
    """A reason keeps its own text before its sentence; a text that is no reason of ours stands alone."""
    assert reasons.explained(reason).startswith(sentence)


@pytest.fixture
def lines(daemon: Daemon) -> Iterator[Any]:
    """A program that reads plain lines in `tessera wake run`, with these options of it."""
    made: list[subprocess.Popen[bytes]] = []

    def end() -> None:
        while made:
            with made.pop() as process:
                process.terminate()

    def make(*options: str) -> None:
        end()
        until(lambda: not daemon.client.call("endpoints", live=True)["endpoints"], "the last one's end")
        options = ("run", "--repo", "api", "--ack-mode", "injected", *options)
        made.append(
            subprocess.Popen(
                daemon.command(*options, "--", sys.executable, "-c", LINES),
                env=daemon.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
        )
        until(lambda: daemon.client.call("endpoints", live=True)["endpoints"], "the endpoint")

    yield make
    end()


def test_plain_lines_are_explained_and_then_typed(daemon: Daemon, lines: Any) -> None:
    """A program that reads plain lines keeps wakes waiting; `send --wait`, `show` and `history` say so,
    also of the one behind, and name `--plain`, with which they are typed.
    """
    daemon.start()
    lines()
    words = ("--wait", "written", "--within")
    said = daemon.run("send", "api", "-m", "x", *words, "5", code=1).stdout
    assert (told := re.match(r"(m_\w+) pending: line_mode\. .*`wake run --plain`", said))
    said = daemon.run("send", "api", "-m", "y", *words, "0", code=1).stdout
    assert re.match(rf"m_\w+ pending: behind {told[1]}: line_mode\. .*`wake run --plain`", said)
    assert "`wake run --plain`" in daemon.run("show", told[1]).stdout
    listed = daemon.run("history").stdout
    assert listed.count("line_mode: The program reads plain lines") == 1
    lines("--plain")
    daemon.until_state(daemon.send("k2")["message_id"], "injected")


def test_a_failed_wake_says_why(daemon: Daemon) -> None:
    """`send --wait` gives a failed wake's reason, with its sentence."""
    daemon.start()
    daemon.run("attach", "--repo", "api", "--attempts", "1", "--command", "false")
    said = daemon.run("send", "api", "-m", "x", "--wait", "acked", code=1).stdout
    assert re.match(r"m_\w+ failed: command_exit_1: .*The endpoint's command failed", said)


def test_a_name_that_gita_lacks(daemon: Daemon) -> None:
    """`run` warns of a repository that gita does not know and works all the same; `send` and `attach` refuse
    it. Each says how to add it. A known name gives no warning.
    """
    daemon.start()
    warned = daemon.run("run", "--repo", "nowhere", "--", "true").stderr
    assert warned.startswith("warning: ")
    place = ("--file", str(daemon.folder / "o"))
    for said in (
        warned,
        daemon.run("send", "nowhere", "-m", "x", code=1).stderr,
        daemon.run("attach", "--repo", "nowhere", *place, code=1).stderr,
    ):
        assert "no repository 'nowhere': add it with `gita add PATH`" in said
    assert daemon.run("run", "--repo", "api", "--", "true").stderr == ""
    assert daemon.run("attach", "--repo", "api", "--file", str(daemon.folder / "p")).stderr == ""


def test_the_guide_starts(folder: Path) -> None:
    """The first lines of the guide, pasted in an empty folder, type a wake into a tmux pane, once."""
    guide = (ROOT / "docs" / "guides" / "wake.md").read_text()
    block = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)[0]
    home = folder / "work"
    home.mkdir()
    own = {name: str(folder) for name in ("HOME", "TMUX_TMPDIR", "GITA_PROJECT_HOME")} | {
        "TESSERA_WAKE_HOME": str(folder / "run"), "TESSERA_WAKE_STATE": str(folder / "state"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    strange = ("TMUX", "TMUX_PANE", "TESSERA_WAKE_GITA_DIR", "TESSERA_WAKE_SOCKET")
    env = {name: value for name, value in os.environ.items() if name not in strange} | own
    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"trap 'kill $!; tmux kill-server' EXIT\n{block}"],
        cwd=home, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert ran.returncode == 0, (ran.stdout, ran.stderr)
    assert ran.stdout.count("got: [Tessera wake m_") == 1
    assert re.search(r"^1 +m_\w+ +api +cli +acknowledged +1/3", ran.stdout, re.MULTILINE)
    assert "LOOK" not in ran.stdout
