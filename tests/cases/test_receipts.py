"""Idempotency keys and receipts: what a replay gets, and one hash in every language."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from verbs.bench import Bench
from verbs.refusals import dump, refused, unchanged

MIB = 1 << 20
VECTORS = json.loads(
    (Path(__file__).parents[2] / "conformance" / "canonical_vectors.json").read_text(encoding="utf-8")
)
# Computed by Node.js: an output's canonical text, and the receipt of its success as the first of a task `t`.
BY_NODE: list[tuple[Any, str, str]] = [
    (
        {"\ue000": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ue000":1}',
        "9c4af5069843d30ae96e6641a63e7305198dc273adadc71c0ef838c4583d8f56",
    ),
    (
        [1e-5, 1e-6, 1e-7, 5e-324, 1e21, -1.5e300], "[0.00001,0.000001,1e-7,5e-324,1e+21,-1.5e+300]",
        "db13d2248ef3c88efa8d387a514a6c51183ace2ceac8c03fd804e78ab7b9f861",
    ),
    (
        {"é\u2028": "\x00\x7f/", "a": [1.0, -0.0, 0.1, 100.0]},
        '{"a":[1,0,0.1,100],"é\u2028":"\\u0000\x7f/"}',
        "3aefe6aff248c7c95ec2ce833977869b300264530365d42095b7817dd144b8b6",
    ),
    (
        {"a": "", "A": {}, " ": [], "": None}, '{"":null," ":[],"A":{},"a":""}',
        "6e08b832cce249abbcd78b86482acb5ffd5669cbb31483a7d870e17cacf42c56",
    ),
    (
        "\u20ac\U0001f600\x07\b\t\n\f\r\"\\\u2029",
        '"\u20ac\U0001f600\\u0007\\b\\t\\n\\f\\r\\"\\\\\u2029"',
        "e4ed74401f62627ba46d602db80c293251cece3a996041c77ca3c9082d3d6917",
    ),
    (1.7976931348623157e308, "1.7976931348623157e+308",
     "09b0daa96d6e1ef060f5bec2f34f24b3664a01bf22ff054910fe969e2d4307fb"),
    (2**53 - 1, "9007199254740991", "695cfe21ade6195210461c9b8252e0de41800c50649fecd171ab434f8d834886"),
    (1 - 2**53, "-9007199254740991", "99a810876539f33a39e7f2ba0459ebf7bebd0d7128051fa6aaa3f777b753b8f6"),
    ([-0.0, -0, 0, 0.0, {"x": -0.0e5}], '[0,0,0,0,{"x":0}]',
     "f7e6a9d7af7d88fc6cf7a61076b9dcdc6ef264c76ee97adf1815e3ebb358cf1a"),
    (123456.789e3, "123456789", "01773ab4486b577502c40c863e864f783d3294a934069da167d801ac89be39ca"),
]  # fmt: skip


def stored(bench: Bench) -> list[str]:
    """The outputs as the store holds them, oldest first."""
    return [row[6] for row in dump(bench.path)["results"]]


def handed_in(bench: Bench, output: bytes) -> tuple[str, str]:
    """The stored text and the receipt's hash of an output, given as raw JSON."""
    lease = bench.leased()
    ask = {"task_id": lease.task_id, "fencing_token": 1, "idempotency_key": bench.name("i")}
    body = json.dumps(ask)[:-1].encode() + b',"output":' + output + b"}"
    receipt = bench.raw("submit", body)
    (row,) = [row for row in dump(bench.path)["results"] if row[1] == ask["idempotency_key"]]
    return row[6], receipt.sha256


def test_i03_a_replay_is_the_first_receipt(bench: Bench) -> None:
    """I03: a key that was used gets the first receipt, though the task was leased again since and the replay
    says something else; a key without the right on the task gets none of it.
    """
    key, stranger = bench.key(), bench.key(queues=["other"])
    bench.enqueue(task_id="t")
    assert key.claim("q", "w") is not None
    first = key.submit("t", 1, {"first": 1}, "k", ok=False, error="e")
    assert (first.replayed, first.state) == (False, "ready")
    assert bench.claim(worker="second").fencing_token == 2
    for ask in (("t", 1, {"first": 1}, "k", False, "e"), ("t", 1, "other", "k"), ("t", 2, None, "k", True)):
        replay = unchanged(bench, key.submit, *ask)
        assert (replay.replayed, replay.sha256) == (True, first.sha256)
        assert (replay.ok, replay.state) == (False, "ready")
        assert (replay.fencing_token, replay.submitted_at) == (1, first.submitted_at)
        refused(bench, "forbidden", stranger.submit, *ask)
    assert bench.store.submit("t", 2, "done", "k2").state == "done"
    assert unchanged(bench, key.submit, "t", 1, {"first": 1}, "k", ok=False, error="e").state == "ready"
    assert [one.idempotency_key for one in bench.store.results("t")] == ["k", "k2"]


def test_i04_one_key_for_two_tasks(bench: Bench) -> None:
    """I04: a key that one task used is refused for another with the same output, by the same worker; the
    detail names nothing of the first, and the second goes on.
    """
    first, second = bench.leased(task_id="first-task"), bench.leased(task_id="second-task")
    bench.store.submit(first.task_id, 1, {"same": "output"}, "shared")
    refusal = refused(
        bench, "idempotency_conflict", bench.store.submit, second.task_id, 1, {"same": "output"}, "shared"
    )
    for word in ("first-task", "same", "shared"):
        assert word not in refusal.detail
    assert bench.store.heartbeat(second.task_id, 1).fencing_token == 1
    assert bench.store.submit(second.task_id, 1, {"same": "output"}, "fresh").state == "done"


def test_i05_what_is_a_key(bench: Bench) -> None:
    """I05: a key is 1 to 255 visible ASCII characters; none, an empty one, a long one, spaces, line ends and
    other alphabets are refused and nothing is stored.
    """
    lease = bench.leased()
    long = ["k" * 256, "k" * 10_240]
    for key in (None, "", *long, "é", "€", " k", "k ", "k\tk", "k\r\n", "k\nX: y", "\x00", "\x7f"):
        refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, None, key)
        if key is not None:
            refused(bench, "invalid_request", bench.store.claim, "q", "w", idempotency_key=key)
    assert stored(bench) == []
    for key in ("k", "k" * 255):
        lease = bench.leased()
        assert bench.store.submit(lease.task_id, 1, None, key).idempotency_key == key


@pytest.mark.parametrize(("output", "text", "sha256"), BY_NODE, ids=lambda value: ascii(value)[:20])
def test_i06_one_hash_in_two_languages(bench: Bench, output: Any, text: str, sha256: str) -> None:
    """I06: the text and the receipt of an output are those that JavaScript computes: its order of keys, its
    way to write a number.
    """
    bench.leased(task_id="t")
    assert bench.store.submit("t", 1, output, "k").sha256 == sha256
    assert stored(bench) == [text]


def test_i07_integers_that_javascript_would_round(bench: Bench) -> None:
    """I07: an integer beyond 2^53 - 1 is refused however it is written, so that no two share a receipt; one
    of five thousand digits is a bad request like any other.
    """
    lease = bench.leased()
    for literal in (
        "9007199254740992", "9007199254740993", "-9007199254740992", "1e16", "1e20", "100000000000000000000",
        "9007199254740992.0", "1.2345678901234568e17", "1" * 5_000, "-" + "9" * 5_000, "9" * 400,
    ):  # fmt: skip
        ask = f'{{"task_id":"{lease.task_id}","fencing_token":1,"idempotency_key":"k","output":[{literal}]}}'
        refusal = refused(bench, "invalid_request", bench.raw, "submit", ask.encode())
        assert refusal.detail.startswith("output[0]")
    for value in (2**53, -(2**53), 10**20, 1e20, 10**4_999, 10**10_000):
        refused(bench, "invalid_request", bench.store.submit, lease.task_id, 1, {"n": value}, "k")
    texts = {handed_in(bench, literal)[0] for literal in (b"9007199254740991", b"9007199254740990")}
    assert texts == {"9007199254740991", "9007199254740990"}


def test_i08_every_zero_is_one_zero(bench: Bench) -> None:
    """I08: negative and fractional zeros are the zero: stored, returned and hashed as such."""
    outputs = [b"-0.0", b"-0", b"0", b"0.0", b"0e5", b"-0.0e-5"]
    assert {handed_in(bench, output)[0] for output in outputs} == {"0"}
    assert handed_in(bench, b'[-0.0,{"x":-0.0e5}]')[0] == '[0,{"x":0}]'
    for task in bench.store.tasks().tasks:
        (result,) = bench.store.results(task.task_id)
        row = next(row for row in dump(bench.path)["results"] if row[1] == result.idempotency_key)
        for output in (json.loads(row[6]), result.output):
            assert result.sha256 == receipt_of(task.task_id, output)


def receipt_of(task_id: str, output: Any) -> str:
    """The specification's formula by the standard library, for what it prints as JavaScript does."""
    document = {"task_id": task_id, "fencing_token": 1, "ok": True, "output": output, "error": None}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def test_i09_the_published_vectors(bench: Bench) -> None:
    """I09: every published vector is stored as its canonical text, and every document that the vectors refuse
    is refused.
    """
    assert len(VECTORS["valid"]) >= 40
    for vector in VECTORS["valid"]:
        document = bytes.fromhex(vector.get("document_hex", "")) or vector["document"].encode()
        text, _ = handed_in(bench, document)
        assert text == vector["canonical"]
        assert hashlib.sha256(text.encode()).hexdigest() == vector["sha256"]
    task_id = bench.leased().task_id.encode()
    assert len(VECTORS["refused"]) >= 40
    for vector in VECTORS["refused"]:
        document = bytes.fromhex(vector.get("document_hex", "")) or vector.get("document", "").encode()
        ask = b'{"task_id":"%s","fencing_token":1,"idempotency_key":"k","output":%s}' % (task_id, document)
        refused(bench, "invalid_request", bench.raw, "submit", ask)


@pytest.mark.parametrize(
    "output", [None, [], 0, "", False, "a\x00b", {"k\x00": ["\x00"]}, {}, [None]], ids=ascii
)
def test_i11_unusual_outputs(bench: Bench, output: Any) -> None:
    """I11: null, empty, false and NUL are outputs and come back exactly, to readers and to dependents; an
    error may hold a NUL too, and a null output is told from none.
    """
    bench.queue("q", max_attempts=2)
    bench.enqueue(task_id="t", kind="first")
    bench.enqueue(task_id="d", depends_on=["t"])
    bench.store.submit("t", bench.claim().fencing_token, None, "k1", ok=False, error="a\x00b")
    bench.store.submit("t", bench.claim().fencing_token, output, "k2")
    failed, done = bench.store.results("t")
    assert (failed.error, bench.store.task("t").last_error) == ("a\x00b", "a\x00b")
    assert done.output == output
    assert type(done.output) is type(output)
    (one,) = bench.claim().dependencies
    assert one.output == output
    assert one.result_id == done.result_id
    refused(bench, "invalid_request", bench.enqueue, brief=None)


def test_i12_no_number_is_no_number(bench: Bench) -> None:
    """I12: NaN and infinities, also those that a parser makes of large literals, are refused wherever a
    number may be.
    """
    lease = bench.leased()
    at = f'"task_id":"{lease.task_id}","fencing_token":1'
    for literal in ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" + "0" * 400 + ".5"):
        for verb, body in (
            ("submit", f'{{{at},"idempotency_key":"k","output":{literal}}}'),
            ("submit", f'{{{at},"idempotency_key":"k","output":{{"a":[{literal}]}}}}'),
            ("enqueue", f'{{"queue":"q","kind":"k","brief":{{"a":{literal}}}}}'),
            ("enqueue", f'{{"queue":"q","kind":"k","brief":{{}},"priority":{literal}}}'),
            ("enqueue", f'{{"queue":"q","kind":"k","brief":{{}},"delay_seconds":{literal}}}'),
            ("park", f'{{{at},"reason":"r","resume_within":{literal}}}'),
            ("park", f'{{{at},"reason":"r","input_schema":{{"minimum":{literal}}}}}'),
            ("release", f'{{{at},"delay_seconds":{literal}}}'),
            ("heartbeat", f'{{"task_id":"{lease.task_id}","fencing_token":{literal}}}'),
        ):
            refused(bench, "invalid_request", bench.raw, verb, body.encode())


def test_i13_one_reading_of_a_body(bench: Bench) -> None:
    """I13: of a name given twice the last counts, in a request as in a document, for every reader alike; what
    is no JSON in UTF-8 is refused and leaves nothing.
    """
    lease = bench.leased()
    fine = f'{{"task_id":"{lease.task_id}","fencing_token":1,"idempotency_key":"k","ok":true}}'
    for body in (
        b"", b"null", b"[]", b"\xef\xbb\xbf" + fine.encode(), fine.encode("utf-16"), fine.encode() + b"x",
        fine.encode()[:-1], fine.replace("k", "\xff").encode("latin-1"), fine.encode() * 2,
    ):  # fmt: skip
        refused(bench, "invalid_request", bench.raw, "submit", body)
    refused(bench, "stale_lease", bench.raw, "submit", fine.replace(":1,", ':1,"fencing_token":2,').encode())
    twice = fine[:-1] + ',"ok":false,"ok":true,"output":{"a":1,"a":2}}'
    assert bench.raw("submit", twice.encode()).state == "done"
    (result,) = bench.store.results(lease.task_id)
    assert (result.ok, result.output) == (True, {"a": 2})


@pytest.mark.parametrize("character", ["€", "\U0001f600", "x", "\\u20ac"], ids=ascii)
def test_i15_the_limit_counts_canonical_bytes(bench: Bench, character: str) -> None:
    """I15: a mebibyte is counted in the bytes of the canonical text, quotes included, whatever the request's
    own way of writing it; the limit itself is allowed and one byte more is not.
    """
    width = len("€".encode()) if character == "\\u20ac" else len(character.encode())
    full = character * ((MIB - 2) // width) + "x" * ((MIB - 2) % width)
    lease = bench.leased()
    for verb, fields in (
        ("submit", f'"task_id":"{lease.task_id}","fencing_token":1,"idempotency_key":"k","output"'),
        ("resume", f'"task_id":"{bench.parked().task_id}","input"'),
    ):
        refused(bench, "invalid_request", bench.raw, verb, f'{{{fields}:"{full}x"}}'.encode())
        bench.raw(verb, f'{{{fields}:"{full}"}}'.encode())
    assert len(stored(bench)[0].encode()) == MIB
    assert len(dump(bench.path)["task_inputs"][0][2].encode()) == MIB
