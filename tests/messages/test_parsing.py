"""Documents are parsed strictly: what is not exactly one is refused, and nothing is half accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messages.ground import canonical
from messages.test_vectors import VECTORS
from tessera.messages import agents, records
from tessera.messages.errors import LedgerDamaged

TEXTS = {vector["name"]: vector["text"] for vector in VECTORS["documents"]}
KIND_OF = {vector["name"]: getattr(records, vector["kind"]) for vector in VECTORS["documents"]}
V1, V2 = TEXTS["record-v1"], TEXTS["record-v2-seed-example"]
HEAD, NODE, ACTIVE = TEXTS["head-empty"], TEXTS["commit-1-v1-row"], TEXTS["active-for-record-v1"]


def refused(text: str | bytes, kind: type[records.Document] = records.Record) -> str:
    """What the refusal says."""
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(LedgerDamaged) as refusal:
        records.parse(kind, raw, "the file")
    return refusal.value.detail


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (V1.replace('"tags":[]', '"tags":[],"tags":[]'), "given twice"),
        (V1.replace('"tags":[],', ""), "missing required field `tags`"),
        (V1.replace('"subject":null,', ""), "missing required field `subject`"),
        (V1.replace('"tags"', '"extra":1,"tags"'), "unknown field `extra`"),
        (V1.replace('"version":1', '"version":true'), "got `bool`"),
        (V1.replace('"version":1', '"version":"1"'), "got `str`"),
        (V1.replace('"version":1', '"version":1.0'), "got `float`"),
        (V1.replace('"ts":1786550000123', '"ts":-0'), "out of range"),
        (V1.replace('"ts":1786550000123', '"ts":-5'), "out of range"),
        (V1.replace('"ts":1786550000123', '"ts":18446744073709551616'), "out of range"),
        (V1.replace('"ts":1786550000123', '"ts":' + "9" * 5_000), "out of range"),
        (V1.replace('"ts":1786550000123', '"ts":NaN'), "invalid"),
        (V1.replace('"tags":[]', '"tags":null'), "got `null`"),
        (V1.replace('"tags":[]', '"tags":[1]'), "got `int`"),
        (V1.replace('"body":"', '"body":"\\ud800'), ""),
        (b"\xef\xbb\xbf" + V1.encode(), "malformed"),
        (V1.encode().replace(b'"body":"', b'"body":"\xff'), "UTF-8"),
        (V1.encode().replace(b'"body":"', b'"body":"\xed\xa0\x80'), "UTF-8"),
        (V1 + "x", "trailing"),
        (V1 + V1, "trailing"),
        ("", "truncated"),
        ("[" * 100_000, ""),
        ("null", "got `null`"),
        (V1.replace('"version":1', '"version":3'), "unsupported sent record version 3"),
        (V1.replace('"version":1', '"version":0'), "unsupported sent record version 0"),
        (V1[:-1] + ',"toKind":"agent"}', "carries version-2 endpoint fields"),
        (V1[:-1] + ',"toAddress":"h.b"}', "carries version-2 endpoint fields"),
        (V2.replace(',"toKind":"agent"', ""), "missing an explicit endpoint kind"),
        (V2.replace('"toKind":"agent"', '"toKind":"robot"'), "missing an explicit endpoint kind"),
        (V2.replace('"fromKind":"agent"', '"fromKind":null'), "missing an explicit endpoint kind"),
        (V1.replace("1786550000123-abc123.md", "../../etc/passwd"), "invalid sent record filename"),
        (V1.replace("1786550000123-abc123.md", "1786550000123-ABC123.md"), "invalid sent record filename"),
        (V1.replace("1786550000123-abc123.md", "1786550000123-abc123.md\\n"), "invalid sent record filename"),
    ],
)  # fmt: skip
def test_what_is_no_record(text: str | bytes, why: str) -> None:
    """A record that is not exactly one is refused, for its own reason."""
    assert why in refused(text)


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        (HEAD.replace('"version":1', '"version":2'), records.Index, "unsupported sent head version 2"),
        (HEAD.replace('"count":0', '"count":1'), records.Index, "count/tip mismatch"),
        (HEAD.replace("null", '"' + "a" * 64 + '"'), records.Index, "count/tip mismatch"),
        (HEAD.replace('0,"tip":null', '1,"tip":"' + "A" * 64 + '"'), records.Index, "invalid sent head tip"),
        (HEAD.replace('0,"tip":null', '1,"tip":"../x"'), records.Index, "invalid sent head tip"),
        (NODE.replace('"version":1', '"version":2'), records.Node, "unsupported sent commit version 2"),
        (NODE.replace("1786550000123-abc123.md", "x.md"), records.Node, "invalid sent commit filename"),
        (NODE.replace('"previous":null', '"previous":"x"'), records.Node, "invalid sent commit predecessor"),
        (NODE.replace('"rowDigest":"4', '"rowDigest":"G'), records.Node, "invalid sent row digest"),
        (ACTIVE.replace('"version":1', '"version":2'), records.Active, "unsupported active sent version 2"),
        (ACTIVE.replace("1786550000123-abc123.md", "x.md"), records.Active, "invalid active sent filename"),
        (ACTIVE.replace('"recordDigest":"4', '"recordDigest":"'), records.Active, "invalid active sent"),
    ],
)  # fmt: skip
def test_what_is_no_other_document(text: str, kind: type[records.Document], why: str) -> None:
    """The same for head, node and pointer: a version, a range or a name that is none."""
    assert why in refused(text, kind)


def test_null_in_a_field_that_may_be_left_out_is_left_out() -> None:
    """`"toAddress":null` is read like its absence, and does not change the digest."""
    without = V2.replace(',"toAddress":"dev4.fractal.chat"', "")
    with_null = V2.replace('"toAddress":"dev4.fractal.chat"', '"toAddress":null')
    parse = records.parse

    assert parse(records.Record, with_null.encode(), "x") == parse(records.Record, without.encode(), "x")


@given(st.binary(max_size=400))
def test_no_bytes_crash_a_parser(raw: bytes) -> None:
    """Any bytes are a document or are refused, by every parser."""
    for kind in (records.Index, records.Active, records.Node, records.Receipt, records.Record):
        with pytest.raises(LedgerDamaged):
            records.parse(kind, raw, "noise")
    with pytest.raises(LedgerDamaged):
        agents.parse(raw, "noise")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_a_document_with_one_value_changed_is_whole_or_refused(name: str, data: Any) -> None:
    """Whatever stands in one field, or is added: what is accepted has exactly the values of the file."""
    document = json.loads(TEXTS[name])
    key = data.draw(st.sampled_from([*document, "more"]))
    document[key] = data.draw(values)
    raw = json.dumps(document).encode()
    try:
        parsed = records.parse(KIND_OF[name], raw, "changed")
    except LedgerDamaged:
        return
    optional = {"fromAddress", "toAddress", "fromKind", "toKind"}
    expected = {k: v for k, v in document.items() if v is not None or k not in optional}
    assert records.canonical_bytes(parsed) == canonical(expected)


@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_a_document_with_one_byte_changed_keeps_its_meaning_or_its_digest_tells(name: str, data: Any) -> None:
    """A flipped byte is refused, or shows in the digest."""
    raw = bytearray(TEXTS[name].encode())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != raw[place]))
    try:
        parsed = records.parse(KIND_OF[name], bytes(raw), "flipped")
    except LedgerDamaged:
        return
    original = records.parse(KIND_OF[name], TEXTS[name].encode(), "whole")
    assert records.digest(parsed) != records.digest(original)
