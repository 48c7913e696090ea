"""Check an exported topic of lite claims: its order, its running hashes, and who won.

    python verify_topic.py ROWS [--last-hash HASH] [--payer ACCOUNT]... [--claims CLAIMS] [--secret SECRET]

ROWS    a file of the topic's rows from the first one on, as a mirror node shows them: one JSON object a line,
        or JSON with a list of "messages".
HASH    a running hash that was kept, as a row has it: it must be there, else rows are gone from the end.
ACCOUNT an account whose messages count; left out, every account's do.
CLAIMS  a file of all the topic's claims, as `tessera lite export ROLE --claims` has them: each is compared.
SECRET  a file with the workspace's secret in hex: then what each commitment of CLAIMS stands for is checked.

Needs nothing but Python. Exit code 0: all holds; 1: the line that begins with FAILED says what does not;
2: there is nothing to check, and the line that begins with error says why.
A running hash is SHA-384 over what Java's ObjectOutputStream writes of the previous hash, nine numbers and
the message's own SHA-384. A claim wins if it is the first valid one of its contest: a task and a token.
"""

from __future__ import annotations

import argparse
import base64
import calendar
import hashlib
import hmac
import json
import re
import struct
import sys
from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]
Found = list[tuple[Row, bytes]]
Won = dict[tuple[str, int], tuple[Row, Row]]

HEAD = bytes.fromhex("aced0005757200025b42acf317f8060854e0020000787000000030")
TAIL = bytes.fromhex("7571007e000000000030")
LATE_NS = 180 * 10**9  # a claim that came later than this after it was made has lost
COMMITMENT, NUMBER = r"[0-9a-f]{64}", None
FIELDS = {  # a claim's message: these fields, in this order, in these forms, and nothing else
    "type": r"lite_claim_v1",
    "version": NUMBER,
    "claim_id": r"clm_[0-9a-f]{8,40}",
    "workspace": COMMITMENT,
    "queue": COMMITMENT,
    "role": COMMITMENT,
    "task": COMMITMENT,
    "agent": COMMITMENT,
    "fencing_token": NUMBER,
    "lease_seconds": NUMBER,
    "idempotency_sha256": COMMITMENT,
    "created_at": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z",
}
NAMED = {  # a field of the message: the field of a claim that it is the commitment to
    "workspace": "workspace_id", "queue": "queue_id", "role": "role_id", "task": "task_id",
    "agent": "agent_id", "idempotency_sha256": "idempotency_sha256",
}  # fmt: skip
NEEDED = {  # what each document has, by the name that a list of them goes under
    "messages": ("consensus_timestamp", "message", "payer_account_id", "running_hash", "running_hash_version",
                 "sequence_number", "topic_id"),
    "claims": ("claim_id", *NAMED.values(), "fencing_token", "lease_seconds", "state", "topic_id", "proof"),
}  # fmt: skip


class Failed(Exception):
    """Something does not hold."""


class Unreadable(Exception):
    """A file that is to be checked is none, or is something else."""


def entity(text: str) -> list[int]:
    """A topic's or account's three numbers."""
    if not re.fullmatch(r"(0|[1-9][0-9]{0,17})(\.(0|[1-9][0-9]{0,17})){2}", text, re.ASCII):
        raise ValueError(text)
    return [int(part) for part in text.split(".")]


def nanoseconds(stamp: str) -> int:
    """A consensus time: seconds, a dot, nine digits."""
    if not re.fullmatch(r"[0-9]+\.[0-9]{9}", stamp, re.ASCII):
        raise ValueError(stamp)
    return int(stamp.replace(".", ""))


def running_hash(previous: bytes, row: Row, message: bytes) -> bytes:
    """The running hash after a row."""
    seconds, nanos = divmod(nanoseconds(row["consensus_timestamp"]), 10**9)
    payer, topic = entity(row["payer_account_id"]), entity(row["topic_id"])
    numbers = struct.pack(">8qiq", 3, *payer, *topic, seconds, nanos, row["sequence_number"])
    content = hashlib.sha384(message).digest()
    return hashlib.sha384(HEAD + previous + b"\x77\x4c" + numbers + TAIL + content).digest()


def checked(rows: list[Row]) -> Found:
    """The rows with their messages as bytes, if each follows from the one before it."""
    found: Found = []
    previous, last_ns = bytes(48), 0
    for number, row in enumerate(rows, 1):
        if row["sequence_number"] != number:
            raise Failed(f"row {number}: row {row['sequence_number']} stands in its place")
        try:
            message = decoded(row["message"])
            digest = running_hash(previous, row, message)
            consensus_ns = nanoseconds(row["consensus_timestamp"])
        except (ValueError, TypeError, struct.error):
            raise Failed(f"row {number}: no row of a topic") from None
        if row["topic_id"] != rows[0]["topic_id"]:
            raise Failed(f"row {number}: of another topic")
        if row["running_hash_version"] != 3 or base64.b64encode(digest).decode() != row["running_hash"]:
            raise Failed(f"row {number}: its running hash is not that of its content and the row before it")
        if consensus_ns <= last_ns:
            raise Failed(f"row {number}: no later than the row before it")
        previous, last_ns = digest, consensus_ns
        found.append((row, message))
    return found


def decoded(text: str) -> bytes:
    """Bytes from base64 in its one right form."""
    message = base64.b64decode(text, validate=True)
    if base64.b64encode(message).decode() != text:
        raise ValueError(text)
    return message


def made_ns(stamp: str) -> int:
    """When a claim was made; raises ValueError for no such day."""
    year, month, day, hour, minute, second, micros = map(int, re.split(r"\D", stamp.rstrip("Z")))
    right = year >= 1 and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60
    if not right or not 1 <= day <= calendar.monthrange(year, month)[1]:
        raise ValueError(stamp)
    return calendar.timegm((year, month, day, hour, minute, second)) * 10**9 + micros * 1000


def claim_of(row: Row, message: bytes) -> Row | None:
    """The claim that a row makes, or None."""
    chunk = row.get("chunk_info")
    if len(message) > 1024 or (chunk is not None and chunk["total"] != 1):
        return None
    try:
        claim: Row = json.loads(message)
        if type(claim) is not dict or json.dumps(claim, separators=(",", ":")).encode() != message:
            return None
        if list(claim) != list(FIELDS) or claim["version"] != 1:
            return None
        for name, form in FIELDS.items():
            value = claim[name]
            if form is NUMBER:
                if type(value) is not int or not 1 <= value < 2**53:
                    return None
            elif type(value) is not str or not re.fullmatch(form, value, re.ASCII):
                return None
        late = nanoseconds(row["consensus_timestamp"]) - made_ns(claim["created_at"]) > LATE_NS
    except (ValueError, RecursionError):
        return None
    return None if late else claim


def compare(claim: Row, found: Found, won: Won, secret: bytes | None) -> None:
    """A claim of the store with what the rows say of it."""
    name, proof = f"claim {claim['claim_id']}", claim["proof"]
    if proof is None:
        if claim["state"] in ("claimed", "missed"):
            raise Failed(f"{name}: {claim['state']}, and without a proof")
        return
    number = proof["sequence_number"]
    if type(number) is not int or not 1 <= number <= len(found):
        raise Failed(f"{name}: row {number} is missing")
    row, message = found[number - 1]
    for field in ("topic_id", "running_hash", "consensus_timestamp"):
        if proof[field] is not None and proof[field] != row[field]:
            raise Failed(f"{name}: another {field} than row {number}")
    said = claim_of(row, message)
    if said is None and claim["state"] != "claimed" and f'"{claim["claim_id"]}"'.encode() in message:
        return  # it came late
    if said is None or said["claim_id"] != claim["claim_id"]:
        raise Failed(f"{name}: row {number} is not its message, or is no valid one")
    if said["fencing_token"] != claim["fencing_token"] or said["lease_seconds"] != claim["lease_seconds"]:
        raise Failed(f"{name}: another token or lease than row {number}")
    best = won.get((said["task"], said["fencing_token"]))
    wins = best is not None and best[1]["claim_id"] == claim["claim_id"]
    if wins != (claim["state"] == "claimed") and claim["state"] != "void":
        raise Failed(f"{name}: {claim['state']}, but by the rows it {'won' if wins else 'lost'}")
    for field, named in NAMED.items():
        content = f"lite_claim_v1\0{field.split('_')[0]}\0{claim[named]}".encode()
        if secret and hmac.new(secret, content, "sha256").hexdigest() != said[field]:
            raise Failed(f"{name}: its {named} is not the one in row {number}")


def documents(path: str, name: str) -> list[Row]:
    """The objects in a file, one at least: one a line, or a list under a name in one or more objects."""
    text = content(path)
    try:
        whole = [json.loads(text)]
    except ValueError:
        try:
            whole = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise Unreadable(f"{path}: no JSON, whole or line by line") from None
    lists = [document.get(name, [document]) if type(document) is dict else [document] for document in whole]
    found = [one for some in lists for one in some]
    if not found:
        raise Unreadable(f"{path}: it has no {name}, so there is nothing to check")
    for needed in NEEDED[name]:
        if not all(type(one) is dict and needed in one for one in found):
            raise Unreadable(f"{path}: not every one of its {name} has its {needed}")
    return found


def content(path: str) -> str:
    """The text of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or 'no text'}") from None


def secret_in(path: str) -> bytes:
    """The secret that a file holds in hex."""
    text = content(path).strip()
    if not re.fullmatch("([0-9a-f]{2})+", text, re.ASCII):
        raise Unreadable(f"{path}: a secret is hex digits and nothing else")
    return bytes.fromhex(text)


def place(found: Found, kept: str) -> int:
    """The row that has a hash which was kept."""
    if not re.fullmatch("[A-Za-z0-9+/]{64}", kept, re.ASCII):
        raise Unreadable("--last-hash: a running hash is 64 characters of base64, as a row has it")
    for row, _ in found:
        if row["running_hash"] == kept:
            return int(row["sequence_number"])
    raise Failed(f"row {len(found) + 1}: the kept hash is of none so far: rows are missing at the end")


def main(args: argparse.Namespace) -> Iterator[str]:
    """Check what is asked; the lines that say what was found."""
    found = checked(documents(args.rows, "messages"))
    yield f"{len(found)} rows, each following from the one before it"
    yield f"last running hash {found[-1][0]['running_hash']}"
    if args.last_hash is not None:
        yield f"row {place(found, args.last_hash)} has the kept hash"
    for payer in args.payer:
        if all(row["payer_account_id"] != payer for row, _ in found):
            raise Unreadable(f"--payer {payer}: it paid for none of the rows")
    counted = [one for one in found if not args.payer or one[0]["payer_account_id"] in args.payer]
    said = [(row, claim) for row, message in counted if (claim := claim_of(row, message)) is not None]
    won: Won = {}  # the winner of each contest, in the topic's order
    for row, one in said:
        won.setdefault((one["task"], one["fencing_token"]), (row, one))
    listed = documents(args.claims, "claims") if args.claims is not None else []
    claims = {one["claim_id"]: one for one in listed if one["topic_id"] == found[0][0]["topic_id"]}
    if listed and not claims:
        raise Unreadable(f"{args.claims}: none of its claims is of the topic of the rows")
    secret = secret_in(args.secret) if args.secret is not None else None
    for claim in claims.values():
        compare(claim, found, won, secret)
    for row, one in said if claims else []:
        if one["claim_id"] not in claims:
            raise Failed(f"row {row['sequence_number']}: {one['claim_id']} is not among the claims")
    for row, one in won.values():
        yield winner(row, one, claims.get(one["claim_id"]))
    yield f"{len(won)} contests, {len(claims)} claims compared, ids {'' if secret else 'not '}checked"


def winner(row: Row, said: Row, claim: Row | None) -> str:
    """The line about who won a contest."""
    name, token = f"row {row['sequence_number']}: {said['claim_id']}", said["fencing_token"]
    if claim is None:
        return f"{name} won task {said['task']} under token {token}"
    if claim["proof"] is None and claim["state"] != "void":
        raise Failed(f"{name} won, but it is {claim['state']}, and without a proof")
    void = ", void: it got no lease" if claim["state"] == "void" else ""
    return f"{name} won task {claim['task_id']} under token {token} for {claim['agent_id']}{void}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", metavar="ROWS")
    parser.add_argument("--payer", metavar="ACCOUNT", action="append", default=[])
    for option, holds in (("--last-hash", "HASH"), ("--claims", "CLAIMS"), ("--secret", "SECRET")):
        parser.add_argument(option, metavar=holds)
    asked = parser.parse_args()
    try:
        if asked.secret is not None and asked.claims is None:
            raise Unreadable("--secret: whose ids it hides is in the claims: give --claims too")
        for said_line in main(asked):
            sys.stdout.write(said_line + "\n")
    except Unreadable as nothing:
        sys.stderr.write(f"error: {nothing}\n")
        sys.exit(2)
    except Failed as failure:
        sys.stdout.write(f"FAILED {failure}\n")
        sys.exit(1)
