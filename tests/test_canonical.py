"""Canonical JSON and receipts: one text for every value, the same in Python and in JavaScript."""

from __future__ import annotations

import json
import math
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from tessera.canonical import LEVELS_MAX, canonical, receipt_hash, strict_json
from tessera.errors import InvalidRequest
from tessera.limits import DETAIL_CHARS_MAX, INTEGER_MAX

MIB = 1 << 20
SCRIPT = Path(__file__).parent / "canonical_check.mjs"
VECTOR_FILE = Path(__file__).parents[1] / "conformance" / "canonical_vectors.json"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads(VECTOR_FILE.read_text("utf-8"))


def document_of(vector: dict[str, Any]) -> bytes:
    return bytes.fromhex(vector["document_hex"]) if "document_hex" in vector else vector["document"].encode()


def node(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the JavaScript check; without Node the claim of this file cannot be tested, so that fails."""
    program = shutil.which("node")
    if program is None:
        pytest.fail("Node.js (20 or newer) is needed: put `node` on PATH")
    command = [program, str(SCRIPT), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", timeout=60)


def refused(document: bytes, where: str = "output", bytes_max: int = MIB) -> str:
    """The detail of the refusal that this document must get."""
    with pytest.raises(InvalidRequest) as caught:
        canonical(document, where, bytes_max)
    return caught.value.detail


@pytest.mark.parametrize("vector", VECTORS["valid"], ids=lambda vector: ascii(vector["document"]))
def test_a_valid_vector_has_its_text(vector: dict[str, Any]) -> None:
    """Every valid vector gets its canonical text and hash, and the text is its own canonical text."""
    text = canonical(document_of(vector), "output", MIB)
    assert text == vector["canonical"]
    assert sha256(text.encode()).hexdigest() == vector["sha256"]
    assert canonical(text.encode(), "output", MIB) == text


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["why"])
def test_a_refused_vector_is_refused(vector: dict[str, Any]) -> None:
    """Every refused vector is an invalid request whose detail begins with the field and stays short."""
    detail = refused(document_of(vector))
    assert detail.startswith("output")
    assert len(detail) <= DETAIL_CHARS_MAX


@pytest.mark.parametrize("vector", VECTORS["receipts"])
def test_a_receipt_vector_has_its_hash(vector: dict[str, Any]) -> None:
    """Every receipt vector gets its hash."""
    outcome = {name: value for name, value in vector.items() if name != "sha256"}
    assert receipt_hash(**outcome) == vector["sha256"]


def test_javascript_agrees_with_the_vectors() -> None:
    """An independent implementation in JavaScript agrees with every vector."""
    answer = node(str(VECTOR_FILE))
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("valid", {**VECTORS["valid"][0], "canonical": "0"}),
        ("valid", {**VECTORS["valid"][0], "sha256": "0"}),
        ("refused", {"document": "[1]", "why": "it is not"}),
        ("receipts", {**VECTORS["receipts"][0], "fencing_token": 99}),
    ],
)
def test_the_javascript_check_can_fail(kind: str, wrong: dict[str, Any], tmp_path: Path) -> None:
    """The JavaScript check exits 1 and says what differs when a vector is wrong."""
    (tmp_path / "wrong.json").write_text(json.dumps({**VECTORS, kind: [*VECTORS[kind], wrong]}))
    answer = node(str(tmp_path / "wrong.json"))
    assert answer.returncode == 1
    assert "differs" in answer.stderr


numbers = st.integers(-INTEGER_MAX, INTEGER_MAX) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: not INTEGER_MAX < abs(number) < 1e21
)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None)
@given(values)
def test_canonical_text_is_stable_and_equal(value: object) -> None:
    """The canonical text of any value is its own canonical text, and reads back as an equal value."""
    text = canonical(strict_json(value), "output", MIB)
    assert canonical(text.encode(), "output", MIB) == text
    assert json.loads(text) == value


def random_value(chance: random.Random, depth: int) -> object:
    kind = chance.randrange(11 if depth else 8)
    if kind < 3:
        (number,) = struct.unpack("<d", chance.randbytes(8))
        return number if math.isfinite(number) else None
    if kind == 3:
        return chance.uniform(-1, 1) * 10.0 ** chance.randint(-9, 22)
    if kind == 4:
        return chance.choice((-1, 1)) * chance.getrandbits(chance.randint(1, 54))
    if kind == 5:
        return chance.choice((None, True, False, -0.0, 1.0, 1e21, 1e-6, 1e-7, 5e-324))
    if kind < 8:
        return random_text(chance)
    if kind == 8:
        return [random_value(chance, depth - 1) for _ in range(chance.randrange(5))]
    return {random_text(chance): random_value(chance, depth - 1) for _ in range(chance.randrange(6))}


def random_text(chance: random.Random) -> str:
    return "".join(chance.choices('ab1\x00\t"\\/\x7f\u2028é\ud7ff\ue000\uffff\U0001f600\U0010ffff', k=3))


def random_document(chance: random.Random) -> str:
    """JSON text of a random value, in one case of four with a character lost or put in."""
    ascii_only = chance.random() < 0.5
    text = json.dumps(random_value(chance, 3), ensure_ascii=ascii_only, indent=chance.choice((None, 1)))
    if chance.random() < 0.25:
        place = chance.randrange(len(text))
        text = (
            text[:place] + chance.choice(("", "0", "e", ",", "\\", '"')) + text[place + chance.randrange(2) :]
        )
    return text


def canonical_or_none(document: str) -> str | None:
    try:
        return canonical(document.encode(), "output", MIB)
    except InvalidRequest:
        return None


def test_python_and_javascript_agree_on_random_documents() -> None:
    """Of thousands of random documents, broken ones too, both give one text or both refuse."""
    chance = random.Random(20_250_101)
    documents = [random_document(chance) for _ in range(6_000)]
    answer = node("--batch", stdin=json.dumps(documents))
    assert answer.returncode == 0, answer.stderr
    ours = [canonical_or_none(document) for document in documents]
    theirs = json.loads(answer.stdout)
    differences = [triple for triple in zip(documents, ours, theirs, strict=True) if triple[1] != triple[2]]
    assert differences[:1] == []
    assert 1_000 < ours.count(None) < 5_000, "the batch must hold both kinds"


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (b'{"items":[0,1,2,{"n":9007199254740993}]}', "output.items[3].n"),
        (b'{"items":[0,1,2,{"n":1e400}]}', "output.items[3].n"),
        (b'{"items":[0,1,2,{"n":-1e20}]}', "output.items[3].n"),
        (b'{"items":[0,{"n":NaN}]}', "output.items[1].n"),
        (b'[[-Infinity]]', "output[0][0]"),
        (b'{"n":' + b"9" * 5_000 + b"}", "output.n"),
        (b'{"a":["\\ud800"]}', "output.a[0]"),
        (b'{"a":["\xed\xa0\x80"]}', "output.a[0]"),
        (b'{"a":{"\\ud800":1}}', 'output.a["\\ud800"]'),
        (b'{"two words":{"3":1e400}}', 'output["two words"]["3"]'),
        (b'{"line\\nbreak":1e400}', 'output["line\\nbreak"]'),
        (b"1e400", "output"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_path(document: bytes, path: str) -> None:
    """What is refused inside a document is named by its path, in printable ASCII."""
    assert refused(document).startswith(f"{path}: ")


def test_a_refusal_names_nothing_that_a_later_member_replaced() -> None:
    """A number that a second member of the same name replaces is neither refused nor named."""
    assert canonical(b'{"a":1e400,"a":[]}', "output", MIB) == '{"a":[]}'
    assert refused(b'{"a":1e400,"a":1,"b":1e400}').startswith("output.b: ")


@pytest.mark.parametrize("document", [b'{"%b":1e400}' % (b"k" * 5_000), b'"%b\\ud800"' % (b"s" * 5_000)])
def test_a_refusal_never_echoes_the_document_at_length(document: bytes) -> None:
    """A detail stays within its bound, keeps its reason, and quotes no string of the document."""
    detail = refused(document)
    assert len(detail) <= DETAIL_CHARS_MAX
    assert "sss" not in detail
    assert detail.endswith(("double can hold", "Unicode text"))


def nested(levels: int, opening: bytes = b"[", core: bytes = b"", closing: bytes = b"]") -> bytes:
    return opening * levels + core + closing * levels


@pytest.mark.parametrize(
    "document",
    [
        nested(LEVELS_MAX + 1),
        nested(LEVELS_MAX + 1, b'{"a":', b"1", b"}"),
        nested(LEVELS_MAX + 1, b"[1e400,[],", b"1"),
        nested(900, core=b"9007199254740993"),
        nested(100_000),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=[
        "lists",
        "objects",
        "with faults",
        "with a long integer",
        "far too deep",
        "unclosed",
        "unclosed objects",
    ],
)
def test_a_document_nested_too_deeply_is_refused(document: bytes) -> None:
    """Too many levels are an invalid request that says so, or names what else is wrong; never a crash."""
    detail = refused(document)
    assert "nested too deeply" in detail or detail.startswith("output[")


def at_stack_depth(frames: int, act: Callable[[], str]) -> str:
    return act() if frames == 0 else at_stack_depth(frames - 1, act)


def test_the_deepest_document_allowed_is_allowed_on_any_stack() -> None:
    """How deep a document may be does not depend on the caller's stack, nor on brackets in strings."""
    document = nested(LEVELS_MAX, core=b'"' + b"[{" * 2_000 + b'"')
    assert at_stack_depth(300, lambda: canonical(document, "output", MIB)) == document.decode()


def test_a_wide_document_is_not_a_deep_one() -> None:
    """Many shallow lists and objects are no deep nesting."""
    document = b"[" + b",".join([b'{"a":[[]]}'] * 5_000) + b"]"
    assert canonical(document, "output", MIB) == document.decode()


@pytest.mark.parametrize(
    ("character", "spelled"),
    [("€", "€"), ("€", "\\u20ac"), ("\U0001f600", "\\ud83d\\ude00"), ("\x01", "\\u0001")],
)
def test_size_counts_canonical_bytes(character: str, spelled: str) -> None:
    """The limit counts UTF-8 bytes of the canonical text, however the document spells it, to the byte."""
    unit = len(json.dumps(character, ensure_ascii=False).encode()) - 2
    count, rest = divmod(MIB - 2, unit)
    exact = f'  "{spelled * count}{"x" * rest}"\n'.encode()
    assert len(canonical(exact, "output", MIB).encode()) == MIB
    assert refused(exact.replace(b'"\n', b'x"\n')) == f"output: more than {MIB} bytes of canonical JSON"


def test_raw_and_bytes_are_one() -> None:
    """A piece of a decoded request is read like the same bytes."""
    assert canonical(Raw(b'{"b":1.0,"a":2}'), "output", 99) == canonical(b'{"b":1.0,"a":2}', "output", 99)


def test_a_receipt_tells_every_part_apart() -> None:
    """A receipt changes with each of the five values that it covers."""
    first: dict[str, Any] = {
        "task_id": "t_1", "fencing_token": 1, "ok": True, "output": "null", "error": None,
    }  # fmt: skip
    others = {"task_id": "t_2", "fencing_token": 2, "ok": False, "output": '"null"', "error": ""}
    hashes = {receipt_hash(**first)} | {
        receipt_hash(**{**first, name: other}) for name, other in others.items()
    }
    assert len(hashes) == 6


@pytest.mark.parametrize("field", ["task_id", "error"])
def test_a_receipt_of_a_lone_surrogate_is_refused(field: str) -> None:
    """Text that is no Unicode has no receipt, and the refusal names the field."""
    outcome: dict[str, Any] = {
        "task_id": "t_1", "fencing_token": 1, "ok": False, "output": "null", "error": None,
    }  # fmt: skip
    with pytest.raises(InvalidRequest, match=f"^{field}: "):
        receipt_hash(**{**outcome, field: "x\ud800"})
