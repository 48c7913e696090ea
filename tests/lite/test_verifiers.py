"""The verifiers that are one file each, in Python and in JavaScript: they find what the product finds."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tessera.lite
from lite.ground import IDS, NOON_US, PAYER, SECRET, TOPIC, changed, message, rows
from tessera.lite.chain import Chain
from tessera.lite.message import decode
from tessera.lite.winner import winners
from tessera.models import ChunkInfo, TopicMessage
from tessera.runtime import rfc3339

HERE = Path(tessera.lite.__file__).parent / "verifiers"
COMMANDS = {
    "python": [sys.executable, "-I", str(HERE / "verify_topic.py")],
    "node": ["node", str(HERE / "verify_topic.mjs")],
}
Rows = list[TopicMessage]
RIGHT = message()
FIELDS = json.loads(RIGHT)


def other(**fields: Any) -> bytes:
    """The message with another value in it."""
    return msgspec.json.encode({**FIELDS, **fields})


# What stands in topics: claims, and what looks like claims.
MESSAGES = [
    b"{}", b"null", b"\xff\xfe", b"\xef\xbb\xbf" + RIGHT, RIGHT + b" ", RIGHT.replace(b'":1,', b'":1.0,'),
    RIGHT.replace(b"{", b'{"type":"lite_claim_v1",'), other(task="Acme"), other(fencing_token=0),
    other(fencing_token=2**53), other(fencing_token=True), other(lease_seconds="600"), other(version=2),
    other(task_title="words"), other(created_at="2027-02-30T00:00:00.000000Z"),
    other(created_at="2027-01-15T24:00:00.000000Z"), other(created_at="0000-01-15T08:00:00.000000Z"),
    other(created_at="2027-01-15T07:57:00.000000Z"), other(claim_id="clm_0000000g"), b"[" * 900, b"{" * 900,
    other(created_at=rfc3339(NOON_US - 179_000_000 + 18_000_000), claim_id="clm_00000002"), RIGHT,
    message(claim_id="clm_00000003", agent_id="agt_2"), message(fencing_token=2, claim_id="clm_00000004"),
    message(task_id="t_2", claim_id="clm_00000005"), message(SECRET[::-1], claim_id="clm_00000006"),
    message(task_id="t_3", claim_id="clm_" + "f" * 40, fencing_token=2**53 - 1, lease_seconds=2**53 - 1),
]  # fmt: skip
LONG = rows(MESSAGES)


def said(verifier: str, folder: Path, topic: Rows, *more: str) -> tuple[int, str]:
    """What a verifier says of a topic, and its exit code."""
    path = folder / "rows.jsonl"
    path.write_bytes(b"\n".join(msgspec.json.encode(row) for row in topic))
    ran = subprocess.run(
        [*COMMANDS[verifier], str(path), *more], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stderr == ""
    return ran.returncode, ran.stdout


def claims_of(topic: Rows) -> list[dict[str, Any]]:
    """The claims of a store that lost none and won what the rows say it won."""
    won = {one.claim.claim_id for one in winners(topic, {PAYER}).values()}
    claims = []
    for row in topic:
        claim = decode(row.message)
        if claim is None or claim.workspace != FIELDS["workspace"] or claim.task == FIELDS["task"]:
            continue
        claims.append({
            "claim_id": claim.claim_id, "workspace_id": "ws_a", "queue_id": "mail", "role_id": "role_writer",
            "agent_id": "agt_1", "task_id": "t_2" if claim.fencing_token == 1 else "t_3",
            "fencing_token": claim.fencing_token, "lease_seconds": claim.lease_seconds,
            "idempotency_sha256": "once", "state": "claimed" if claim.claim_id in won else "missed",
            "topic_id": TOPIC,
            "proof": {name: msgspec.to_builtins(row)[name] for name in
                      ("topic_id", "sequence_number", "consensus_timestamp", "running_hash")},
        })  # fmt: skip
    return claims


@pytest.mark.parametrize("verifier", COMMANDS)
def test_they_find_the_winners(verifier: str, tmp_path: Path) -> None:
    """Each names the winners that the product finds, in a topic full of what is no claim."""
    code, text = said(verifier, tmp_path, LONG, "--payer", PAYER)
    won = winners(LONG, {PAYER}).values()

    assert code == 0
    assert text.splitlines() == [
        f"{len(LONG)} rows, each following from the one before it",
        f"last running hash {b64encode(LONG[-1].running_hash).decode()}",
        *(
            f"row {one.sequence_number}: {one.claim.claim_id} won task {one.claim.task} under token "
            f"{one.claim.fencing_token}"
            for one in sorted(won, key=lambda one: one.sequence_number)
        ),
        f"{len(won)} contests, 0 claims compared, ids not checked",
    ]
    assert len(won) == 5


@pytest.mark.parametrize("verifier", COMMANDS)
def test_foreign_and_chunked_rows_win_nothing(verifier: str, tmp_path: Path) -> None:
    """Each leaves out rows that another account paid for, and rows that are part of a longer message."""
    topic = rows([message(), message(claim_id="clm_00000002")])
    chunked = [changed(topic[0], chunk_info=ChunkInfo(number=1, total=2)), topic[1]]

    assert "clm_00000002 won" in said(verifier, tmp_path, chunked, "--payer", PAYER)[1]
    mixed = rows([message(), message(claim_id="clm_00000002")], payers=["0.0.7", PAYER])
    assert "clm_00000002 won" in said(verifier, tmp_path, mixed, "--payer", PAYER)[1]
    assert "clm_00000001 won" in said(verifier, tmp_path, mixed, "--payer", PAYER, "--payer", "0.0.7")[1]


FLIPPED = bytes([LONG[4].message[0] ^ 1]) + LONG[4].message[1:]


@pytest.mark.parametrize("verifier", COMMANDS)
@pytest.mark.parametrize(
    ("change", "row"),
    [
        (lambda t: [*t[:4], changed(t[4], message=FLIPPED), *t[5:]], 5),
        (lambda t: [*t[:4], changed(t[4], running_hash=t[3].running_hash), *t[5:]], 5),
        (lambda t: t[:4] + t[5:], 5),
        (lambda t: [*t[:4], t[5], t[4], *t[6:]], 5),
        (lambda t: [*t[:4], changed(t[4], payer_account_id="0.0.7"), *t[5:]], 5),
        (lambda t: [*t[:4], changed(t[4], consensus_timestamp="1.5"), *t[5:]], 5),
        (lambda t: [*t[:4], changed(t[4], topic_id="0.0.7"), *t[5:]], 5),
        (lambda t: t[1:], 1),
    ],
    ids=["bit", "hash", "missing", "swapped", "payer", "time", "topic", "first"],
)
def test_they_name_the_row(verifier: str, change: Callable[[Rows], Rows], row: int, tmp_path: Path) -> None:
    """Each names the row at which a topic breaks, as the product does, and ends with 1."""
    topic = change(LONG)
    code, text = said(verifier, tmp_path, topic)
    found = Chain(TOPIC).follow(topic)

    assert found is not None
    assert (code, found.sequence_number) == (1, row)
    assert text.startswith(f"FAILED row {row}: ")


@pytest.mark.parametrize("verifier", COMMANDS)
def test_claims_are_compared(verifier: str, tmp_path: Path) -> None:
    """With the store's claims each says who won what; with the workspace's secret it checks every id."""
    topic = rows([message(task_id="t_2"), message(task_id="t_2", claim_id="clm_00000002"),
                  message(task_id="t_3", claim_id="clm_00000003", fencing_token=2)])  # fmt: skip
    claims, secret = tmp_path / "claims.json", tmp_path / "secret"
    secret.write_text(SECRET.hex() + "\n")
    listed = claims_of(topic)
    files = ("--claims", str(claims), "--secret", str(secret))

    def verdict(changed_claims: list[dict[str, Any]], *more: str) -> str:
        claims.write_text(json.dumps({"claims": changed_claims, "next": None}))
        return said(verifier, tmp_path, topic, *(more or files))[1].splitlines()[-1]

    assert len(listed) == 3
    assert verdict(listed) == "2 contests, 3 claims compared, ids checked"
    assert verdict(listed, *files[:2]) == "2 contests, 3 claims compared, ids not checked"
    assert verdict(listed[:2]) == "FAILED row 3: clm_00000003 is not among the claims"
    assert verdict([listed[0], listed[2]]) == "FAILED row 2: clm_00000002 is not among the claims"
    for place, fields, why in (
        (0, {"state": "missed"}, "missed, but by the rows it won"),
        (0, {"state": "reserved"}, "reserved, but by the rows it won"),
        (0, {"proof": None}, "claimed, and without a proof"),
        (1, {"proof": None}, "missed, and without a proof"),
        (0, {"proof": {**listed[0]["proof"], "sequence_number": 0}}, "row 0 is missing"),
        (1, {"proof": listed[0]["proof"]}, "row 1 is not its message"),
        (1, {"state": "claimed"}, "claimed, but by the rows it lost"),
        (0, {"agent_id": "agt_9"}, "its agent_id is not the one in row 1"),
        (2, {"task_id": "t_9"}, "its task_id is not the one in row 3"),
        (0, {"idempotency_sha256": "twice"}, "its idempotency_sha256 is not the one in row 1"),
        (0, {"fencing_token": 7}, "another token or lease than row 1"),
        (0, {"proof": {**listed[0]["proof"], "sequence_number": 9}}, "row 9 is missing"),
        (0, {"proof": {**listed[0]["proof"], "running_hash": "AA=="}}, "another running_hash than row 1"),
        (0, {"proof": {**listed[0]["proof"], **listed[2]["proof"]}}, "row 3 is not its message"),
    ):  # fmt: skip
        wrong = list(listed)
        wrong[place] = {**listed[place], **fields}
        line = verdict(wrong)
        assert line.startswith(f"FAILED claim {listed[place]['claim_id']}: ")
        assert why in line
    assert "agent_id" not in verdict([{**listed[0], "agent_id": "agt_9"}, *listed[1:]], *files[:2])
    under_way = {**listed[0], "state": "reserved", "proof": None}
    assert "FAILED row 1: clm_00000001 won, but it is reserved" in verdict([under_way, *listed[1:]])
    claims.write_text(json.dumps({"claims": [{**listed[0], "state": "void"}, *listed[1:]]}))
    code, text = said(verifier, tmp_path, topic, *files)
    assert (code, text.splitlines()[2].partition(", ")[2]) == (0, "void: it got no lease")
    assert IDS["claim_id"] == listed[0]["claim_id"]


@pytest.mark.parametrize("verifier", COMMANDS)
def test_late_claims_are_no_finding(verifier: str, tmp_path: Path) -> None:
    """A claim whose message came too late to count is no finding as missed or void, and one as claimed."""
    topic = rows([message(task_id="t_2"), message(task_id="t_2", claim_id="clm_00000002")])
    listed = claims_of(topic)
    late = rows([message(task_id="t_2"), message(
        task_id="t_2", claim_id="clm_00000002", created_at="2027-01-15T07:50:00.000000Z")])  # fmt: skip
    listed[1]["proof"]["running_hash"] = b64encode(late[1].running_hash).decode()
    for state, code in (("missed", 0), ("void", 0), ("claimed", 1)):
        listed[1]["state"] = state
        (tmp_path / "claims").write_text(json.dumps({"claims": listed}))
        assert said(verifier, tmp_path, late, "--claims", str(tmp_path / "claims"))[0] == code


@pytest.mark.parametrize("verifier", COMMANDS)
def test_a_kept_hash_must_be_there(verifier: str, tmp_path: Path) -> None:
    """The last running hash is printed for somebody to keep, and the row that has it is named later; rows cut
    off up to it are found.
    """
    text = said(verifier, tmp_path, LONG[:9])[1].splitlines()[1]
    kept = text.removeprefix("last running hash ")

    code, longer = said(verifier, tmp_path, LONG, "--last-hash", kept)
    assert (code, longer.splitlines()[2]) == (0, "row 9 has the kept hash")
    code, shorter = said(verifier, tmp_path, LONG[:8], "--last-hash", kept)
    assert (code, shorter.splitlines()[-1]) == (
        1, "FAILED row 9: the kept hash is of none so far: rows are missing at the end",
    )  # fmt: skip


@pytest.mark.parametrize("verifier", COMMANDS)
@pytest.mark.parametrize(
    ("files", "why"),
    [
        (["none"], "none: No such file or directory"),
        (["words"], "words: no JSON, whole or line by line"),
        (["bytes"], "bytes: no text"),
        (["list"], "list: not every one of its messages has its consensus_timestamp"),
        (["claims"], "claims: not every one of its messages has its consensus_timestamp"),
        (["rows", "--claims", "rows"], "rows: not every one of its claims has its claim_id"),
        (["rows", "--claims", "one claim", "--secret", "rows"], "rows: a secret is hex digits"),
        (["rows", "--claims", "no claims", "--secret", "secret"], "no claims: it has no claims"),
        (["rows", "--claims", "nothing"], "nothing: it has no claims"),
        (["rows", "--claims", "far claim"], "far claim: none of its claims is of the topic"),
        (["nothing"], "nothing: it has no messages"),
        (["rows", "--payer", "0.0.7"], "--payer 0.0.7: it paid for none of the rows"),
        (["rows", "--payer", ""], "--payer : it paid for none of the rows"),
        (["rows", "--claims", ""], "error: "),
        (["rows", "--last-hash", "AA=="], "--last-hash: a running hash is 64 characters"),
        (["rows", "--secret", "words"], "--secret: whose ids it hides is in the claims: give --claims too"),
        ([], "usage:"),
        (["rows", "--nothing"], "usage:"),
    ],
)
def test_what_is_no_topic_is_no_finding(verifier: str, files: list[str], why: str, tmp_path: Path) -> None:
    """A file that is missing or something else, and a command that is wrong, is said in one sentence and ends
    with 2: it proves nothing against the topic.
    """
    (tmp_path / "rows").write_bytes(msgspec.json.encode(LONG[:1]).strip(b"[]"))
    (tmp_path / "claims").write_text('{"claims": [{"claim_id": "clm_00000001"}]}')
    (tmp_path / "no claims").write_text('{"claims": []}')
    (tmp_path / "nothing").write_text("")
    (tmp_path / "secret").write_text(SECRET.hex())
    (one,) = claims_of(rows([message(task_id="t_2")]))
    (tmp_path / "one claim").write_text(json.dumps(one))
    (tmp_path / "far claim").write_text(json.dumps({**one, "topic_id": "0.0.1"}))
    (tmp_path / "words").write_text("words\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "list").write_text("[1]")
    ran = subprocess.run(
        [*COMMANDS[verifier], *files], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )

    assert ran.returncode == 2
    assert why in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "FAILED" not in ran.stdout
