"""`tessera lite verify`, `export`, `secret`, `verifier`, `topic` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from lite.workshop import ROLE, furnish, put, won

from tessera.library import Tessera


@pytest.fixture
def topic(store: Tessera) -> str:
    """The topic of a role in which three claims were won."""
    furnish(store)
    for number in range(3):
        put(store, task_id=f"t_{number}")
        won(store)
    return store.workspace("ws_a").roles[0].topic_id


def test_verify(cli: Any, topic: str) -> None:
    """A topic that holds exits 0, with a line a topic; a topic that is no role's is refused."""
    shown = cli("lite", "verify").stdout

    assert shown.splitlines()[-1] == "Everything follows from the log."
    assert topic in shown
    answer = cli.json("lite", "verify", "--topic", topic)
    assert (answer["ok"], answer["topics"][0]["claims"]) == (True, 3)
    assert "not_found" in cli("lite", "verify", "--topic", "0.0.1", code=1).stderr
    cli.env["TESSERA_LITE_LOG"] = "hedera"
    cli("lite", "role", "define", "role_far", "--workspace", "ws_a", "--name", "F", "--topic", "0.0.77")
    cli.env["TESSERA_LITE_LOG"] = "local"
    assert "0.0.77: not read: its rows lie on a network" in cli("lite", "verify", code=1).stdout
    assert "unavailable" in cli("lite", "verify", "--mirror", "http://127.0.0.1:1", code=1).stderr


def test_verify_finds(cli: Any, topic: str, url: str) -> None:
    """A changed row exits 1 and is named, in words and in JSON."""
    with closing(apsw.Connection(url)) as file:
        file.execute("update topic_messages set payer = '0.0.7' where sequence_number = 2")
    shown = cli("lite", "verify", code=1).stdout

    assert "NOT agree" in shown
    assert f"{topic}: row 2 its running hash" in shown
    assert "row 2" in cli.json("lite", "verify", code=1)["topics"][0]["finding"]


@pytest.mark.parametrize(("language", "runs"), [("python", [sys.executable, "-I"]), ("javascript", ["node"])])
def test_a_third_party_checks_it(
    cli: Any, topic: str, store: Tessera, tmp_path: Path, language: str, runs: list[str]
) -> None:
    """What the commands print is all that somebody needs who has neither the store nor Tessera: a program,
    the rows, the claims, the secret. It names each winner, and the row that somebody changes.
    """
    program = tmp_path / {"python": "verify_topic.py", "javascript": "verify_topic.mjs"}[language]
    program.write_text(cli("lite", "verifier", language).stdout)
    (tmp_path / "rows").write_text(cli("lite", "export", ROLE).stdout)
    (tmp_path / "claims").write_text(cli("lite", "export", ROLE, "--claims").stdout)
    (tmp_path / "secret").write_text(cli("lite", "secret", "ws_a").stdout)
    payer = store.topic_messages(ROLE).messages[0].payer_account_id
    command = [*runs, str(program), "rows", "--payer", payer, "--claims", "claims", "--secret", "secret"]

    def said() -> tuple[int, list[str]]:
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
        return ran.returncode, ran.stdout.splitlines()

    code, lines = said()
    assert (code, lines[0]) == (0, "3 rows, each following from the one before it")
    assert [line.partition(" won ")[2] for line in lines[2:5]] == [
        f"task t_{number} under token 1 for agt_ann" for number in range(3)
    ]
    assert lines[-1] == "3 contests, 3 claims compared, ids checked"

    rows = (tmp_path / "rows").read_text().splitlines()
    row = json.loads(rows[1])
    row["message"] = json.loads(rows[0])["message"]
    (tmp_path / "rows").write_text("\n".join([rows[0], json.dumps(row), rows[2]]))
    assert said() == (1, ["FAILED row 2: its running hash is not that of its content and the row before it"])


def test_export_goes_on(cli: Any, topic: str) -> None:
    """An export goes on after a number, and a role of another workspace is asked for by both names."""
    lines = cli("lite", "export", ROLE, "--after", "1").stdout.splitlines()

    assert [json.loads(line)["sequence_number"] for line in lines] == [2, 3]
    assert cli("lite", "export", ROLE, "--workspace", "ws_a").stdout.count("\n") == 3
    assert "not_found" in cli("lite", "export", "role_none", code=1).stderr


def test_export_is_whole(cli: Any, topic: str, store: Tessera, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and claims are exported to the last, however many pages they are, and a topic's claims alone."""
    furnish(store, "ws_b", "letters")
    put(store, "ws_b", "letters")
    won(store, "letters")
    monkeypatch.setattr("tessera.cli.lite.proving.PAGE_MAX", 2)
    export = ("lite", "export", ROLE, "--workspace", "ws_a")
    printed = [cli(*export, *more).stdout for more in ((), ("--claims",))]
    rows, claims = ([json.loads(line) for line in text.splitlines()] for text in printed)

    assert [row["sequence_number"] for row in rows] == [1, 2, 3]
    assert [claim["task_id"] for claim in claims] == ["t_0", "t_1", "t_2"]
    assert [claim["proof"]["running_hash"] for claim in claims] == [row["running_hash"] for row in rows]


def test_topic_needs_a_network(cli: Any) -> None:
    """The store's own log makes its topics by itself."""
    assert "own log" in cli("lite", "topic", code=1).stderr
