"""Bytes and digests are those of the format, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from messages.ground import canonical, sha
from tessera.messages import records, rendering, wire

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))


def named(vectors: list[dict[str, Any]]) -> Any:
    return pytest.mark.parametrize("vector", vectors, ids=[vector["name"] for vector in vectors])


@named(VECTORS["renderings"])
def test_rendered_messages(vector: dict[str, Any]) -> None:
    """A message is rendered to exactly these bytes, and says again what it was made of."""
    given = dict(vector["inputs"])
    text = rendering.render(given.pop("from"), given.pop("body"), **given)
    says = rendering.parse(text)

    assert (text, sha(text.encode())) == (vector["text"], vector["sha256"])
    assert (says.from_, says.from_id) == (vector["inputs"]["from"], given["from_id"])
    assert (says.subject, says.tags) == (given["subject"], given["tags"])
    assert says.body == vector["inputs"]["body"] + ("" if says.body == vector["inputs"]["body"] else "\n")


@named(VECTORS["documents"])
def test_documents(vector: dict[str, Any]) -> None:
    """A document is parsed and written again to exactly its bytes, under exactly its digest."""
    raw = vector["text"].encode()
    document = records.parse(getattr(records, vector["kind"]), raw, "vector")

    assert records.canonical_bytes(document) == raw == canonical(json.loads(raw))
    assert records.digest(document) == vector["sha256"] == sha(raw)


def test_name_of_a_receipt() -> None:
    """A receipt is kept under the digest of the recipient and the key."""
    key = VECTORS["key"]

    assert records.key_digest(key["to"], key["key"]) == key["sha256"]


def test_order_of_keys_and_white_space_change_no_digest() -> None:
    """A row written with other spacing and order is the same row; sorted keys are not what is hashed."""
    raw = VECTORS["reordered"]["text"].encode()
    row = records.parse(records.Record, raw, "vector")

    assert records.digest(row) == VECTORS["reordered"]["sha256"]
    assert records.digest(row) != VECTORS["alphabetical_trap"]
    assert (
        sha(json.dumps(json.loads(raw), sort_keys=True, separators=(",", ":")).encode())
        == (VECTORS["alphabetical_trap"])
    )


@named(VECTORS["envelopes"])
def test_envelopes(vector: dict[str, Any]) -> None:
    """`sent --json` is exactly these bytes, the coverage's tag first, absent fields absent."""
    raw = vector["text"].encode()
    answer = msgspec.json.decode(raw, type=wire.SentMessages)

    assert msgspec.json.encode(answer) == raw
    assert sha(raw) == vector["sha256"]
