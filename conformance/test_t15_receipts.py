"""T15: every receipt is the hash of what is stored, by a formula that anybody can compute anywhere."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from conformance.audit import audit
from conformance.bench import Bench
from conformance.receipts import canonical
from tessera.models import Receipt

VECTORS = Path(__file__).parent / "canonical_vectors.json"
MIB = 1 << 20

# A value as a worker may hand it in, and the one text it has. (RFC 8785 and ECMAScript's Number::toString.)
TRICKY: list[tuple[Any, str]] = [
    (1.0, "1"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (1e-6, "0.000001"),
    (1e-7, "1e-7"),
    (1.5e-9, "1.5e-9"),
    (123456789.25, "123456789.25"),
    (4.5e15, "4500000000000000"),
    (5e-324, "5e-324"),
    (2**53 - 1, "9007199254740991"),
    (-(2**53 - 1), "-9007199254740991"),
    ('\u20ac$\u000f\nA\'B"\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\"/"'),
    ("\u2028\x7f", '"\u2028\x7f"'),
    ({"b": 2, "a": [True, None, {}], "": []}, '{"":[],"a":[true,null,{}],"b":2}'),
    ({"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3}, '{"\u20ac":3,"\U0001f600":2,"\ufb33":1}'),
    ({"10": 1, "9": 2, "a": 3, "A": 4}, '{"10":1,"9":2,"A":4,"a":3}'),
]
# Values that JSON or JavaScript cannot hold.
FORMLESS: list[Any] = [
    float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}, 2**53, [-(2**53)], {"n": 1e16},
]  # fmt: skip


def shared_vectors(part: str) -> list[dict[str, Any]]:
    """The documents that the implementations of canonical JSON share, if they are here."""
    if not VECTORS.exists():
        return []
    vectors: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8"))[part]
    return vectors


def parsed(vector: dict[str, Any]) -> list[Any]:
    """A refused document's value, if it has one: most fail as text, before anybody could hand them in."""
    if "document" not in vector or vector.get("seen_by_value") is False:
        return []
    try:
        return [json.loads(vector["document"])]
    except ValueError:
        return []


def submitted(bench: Bench, queue: str, output: Any) -> Receipt:
    """The receipt of one task that succeeds with an output."""
    bench.enqueue(queue)
    return bench.ok(bench.claim(queue), output)


def by_hand(got: Receipt, output: str, error: str = "null") -> str:
    """A receipt's hash from the texts of its parts, put together without any encoder."""
    ok = "true" if got.ok else "false"
    text = (
        f'{{"error":{error},"fencing_token":{got.fencing_token},"ok":{ok},'
        f'"output":{output},"task_id":"{got.task_id}"}}'
    )
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "output", [None, True, "done", 7, [], {}, ["a", 1, None], {"z": {"b": 1, "a": 2}, "y": "ü"}], ids=repr
)
def test_a_receipt_is_the_hash_of_its_outcome(bench: Bench, output: Any) -> None:
    """The receipt, the stored result and a recomputation from plain JSON all have the same hash."""
    queue = bench.queue()
    got = submitted(bench, queue, output)
    plain = json.dumps(output, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert got.sha256 == by_hand(got, plain)
    (result,) = bench.client.results(got.task_id)
    assert (result.sha256, result.output, result.error, result.ok) == (got.sha256, output, None, True)
    assert (result.idempotency_key, result.submitted_at) == (got.idempotency_key, got.submitted_at)
    audit(bench)


def test_failures_have_receipts_too(bench: Bench) -> None:
    """A failed submit is hashed with its error and whatever output it brought, under its own token."""
    queue = bench.queue(max_attempts=3)
    bench.enqueue(queue)
    first = bench.fail(bench.claim(queue), 'line one\nline "two"')
    assert first.sha256 == by_hand(first, "null", '"line one\\nline \\"two\\""')
    second = bench.fail(bench.claim(queue), "", {"partial": [1.0]})
    assert second.sha256 == by_hand(second, '{"partial":[1]}', '""')
    third = bench.ok(bench.claim(queue), {"partial": [1.0]})
    assert third.sha256 == by_hand(third, '{"partial":[1]}')
    assert len({first.sha256, second.sha256, third.sha256}) == 3
    audit(bench)


def test_tricky_documents_hash_as_in_any_other_language(bench: Bench) -> None:
    """Numbers, escapes and key order follow RFC 8785, so a receipt computed elsewhere matches."""
    queue = bench.queue()
    shared = [(json.loads(one["document"]), one["canonical"]) for one in shared_vectors("valid")]
    for output, text in TRICKY + shared:
        assert canonical(output) == text
        got = submitted(bench, queue, output)
        assert got.sha256 == by_hand(got, text), text
        (result,) = bench.client.results(got.task_id)
        assert canonical(result.output) == text
    audit(bench)


def test_what_has_no_canonical_form_is_refused(bench: Bench) -> None:
    """NaN, infinities, lone surrogates and integers that JavaScript cannot hold store nothing."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    for output in FORMLESS + [value for one in shared_vectors("refused") for value in parsed(one)]:
        with bench.refused("invalid_request", task_id):
            bench.client.submit(task_id, lease.fencing_token, output, bench.name("k"))
    assert bench.ok(lease, str(2**53)).state == "done"
    audit(bench)


def test_an_output_may_be_one_mebibyte_and_no_more(bench: Bench) -> None:
    """The limit counts canonical UTF-8 bytes; one above it is refused and the lease lives on."""
    queue = bench.queue()
    task_id = bench.enqueue(queue)
    lease = bench.claim(queue)
    for output in ("x" * (MIB - 1), "é" * (MIB // 2)):
        with bench.refused("invalid_request", task_id):
            bench.client.submit(task_id, lease.fencing_token, output, bench.name("k"))
    with bench.refused("invalid_request", task_id):
        bench.client.submit(task_id, lease.fencing_token, None, bench.name("k"), ok=False, error="x" * 8_193)
    largest = "x" * (MIB - 2)
    got = bench.ok(lease, largest)
    assert got.sha256 == by_hand(got, f'"{largest}"')
    audit(bench)


def test_what_comes_back_is_what_was_hashed(bench: Bench) -> None:
    """A parent reads its child's output under the same hash that the child was given as a receipt."""
    queue = bench.queue()
    bench.enqueue(queue)
    lease = bench.claim(queue)
    bench.client.split(lease.task_id, lease.fencing_token, [{"brief": {}}])
    got = bench.ok(bench.claim(queue), {"deep": [{"é": 0.5}]})
    (child,) = bench.claim(queue).children
    assert (child.output, child.output_sha256) == ({"deep": [{"é": 0.5}]}, got.sha256)
    audit(bench)
