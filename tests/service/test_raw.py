"""Bytes over HTTP: what is put comes back, whole or in part, and nothing that is damaged."""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3

import pytest
from service.running import Aside, Running, reply_on

from tessera.limits import BLOB_BYTES_MAX

DATA = random.Random(5).randbytes(3 << 20)  # in three chunks
SHA256 = hashlib.sha256(DATA).hexdigest()
ETAG = f'"{SHA256}"'
PATHS = [f"/v1/blobs/{SHA256}", "/v1/buckets/traces/objects/data"]


@pytest.fixture(scope="module", autouse=True)
def stored(service: Running) -> None:
    """The bytes, as a blob and as an object."""
    blob = service.post("/v1/blobs", DATA)
    assert (blob.status, blob.json) == (201, {"sha256": SHA256, "size": len(DATA)})
    made = service.post(PATHS[1], DATA, headers={"content-type": "image/png"})
    assert (made.status, made.json["version"], made.json["content_type"]) == (201, 1, "image/png")


@pytest.mark.parametrize("path", PATHS)
def test_bytes_come_back_inert(service: Running, path: str) -> None:
    """A whole answer has the bytes, their hash as its tag, and headers that let no browser run them; HEAD has
    the same headers.
    """
    whole, head = service.get(path), service.call("HEAD", path)

    assert (whole.status, whole.body == DATA) == (200, True)
    assert whole.headers["etag"] == ETAG
    assert whole.headers["content-length"] == str(len(DATA))
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert whole.headers["content-disposition"] == "attachment"
    assert "default-src 'none'" in whole.headers["content-security-policy"]
    assert (head.status, head.body) == (200, b"")
    assert {**head.headers, "x-request-id": ""} == {**whole.headers, "x-request-id": ""}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("asked", "first", "last"), [
    ("bytes=0-0", 0, 0), ("bytes=0-99", 0, 99), ("bytes=1048570-1048580", 1_048_570, 1_048_580),
    ("bytes=3145000-", 3_145_000, len(DATA) - 1), ("bytes=-7", len(DATA) - 7, len(DATA) - 1),
    ("bytes=0-", 0, len(DATA) - 1), ("bytes=5-99999999999999999999", 5, len(DATA) - 1),
    ("BYTES=1-2", 1, 2),
])  # fmt: skip
def test_a_range_is_a_part(service: Running, path: str, asked: str, first: int, last: int) -> None:
    """One range gives 206, its bytes, and where they are."""
    reply = service.get(path, headers={"range": asked})

    assert reply.status == 206
    assert reply.body == DATA[first : last + 1]
    assert reply.headers["content-range"] == f"bytes {first}-{last}/{len(DATA)}"
    assert reply.headers["etag"] == ETAG


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("asked", ["bytes=1-2,4-5", "bytes=a-b", "bytes=2-1", "items=0-1", "bytes=", "0-1"])
def test_a_malformed_range_is_ignored(service: Running, path: str, asked: str) -> None:
    """What is malformed, or several ranges, gives the whole."""
    reply = service.get(path, headers={"range": asked})

    assert (reply.status, reply.body == DATA) == (200, True)
    assert "content-range" not in reply.headers


@pytest.mark.parametrize("path", PATHS)
def test_a_range_beyond_the_end(service: Running, path: str) -> None:
    """A range that begins at the end or later is 416, and says how many bytes there are."""
    for asked in (f"bytes={len(DATA)}-", "bytes=99999999999999999999-", "bytes=-0"):
        reply = service.get(path, headers={"range": asked})
        assert (reply.status, reply.code) == (416, "range_not_satisfiable")
        assert reply.headers["content-range"] == f"bytes */{len(DATA)}"


@pytest.mark.parametrize("path", PATHS)
def test_who_has_the_bytes_gets_none(service: Running, path: str) -> None:
    """`If-None-Match` with the tag, among others, weak, or `*`, gives 304 and no body; another gives all."""
    for tags in (ETAG, f'"x", {ETAG}', f"W/{ETAG}", "*"):
        reply = service.get(path, headers={"if-none-match": tags, "range": "bytes=0-1"})
        assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", ETAG)
    assert service.get(path, headers={"if-none-match": '"other"'}).status == 200


def test_if_range_is_for_the_same_bytes(service: Running) -> None:
    """`If-Range` with another tag gives the whole, with this one the part."""
    asked = {"range": "bytes=0-1"}
    assert service.get(PATHS[1], headers={**asked, "if-range": ETAG}).status == 206
    assert service.get(PATHS[1], headers={**asked, "if-range": '"older"'}).status == 200


def test_versions_are_compared_and_kept(service: Running) -> None:
    """A put that expects another version is 409 with the current one; each version can be read, told of, and
    listed.
    """
    path = "/v1/buckets/cases/objects/story"
    assert service.post(path, b"one").json["version"] == 1
    lost = service.post(path, b"two")
    assert (lost.code, lost.json["current_version"]) == ("version_conflict", 1)
    assert service.post(f"{path}?expected_version=1", b"two").json["version"] == 2
    assert service.get(path).body == b"two"
    assert service.get(f"{path}?version=1").body == b"one"
    assert service.get(f"{path}?version=1").headers["x-version"] == "1"
    assert service.get(f"{path}?meta=true").json["size"] == 3
    assert service.get(f"{path}?meta=false").body == b"two"
    assert [one["version"] for one in service.get(f"{path}?history=true").json["versions"]] == [1, 2]
    assert service.get(f"{path}?history=true&meta=true").code == "invalid_request"
    assert service.get(f"{path}?meta=perhaps").code == "invalid_request"
    assert service.get(f"{path}?range=bytes=0-1").code == "invalid_request"
    assert service.get(f"{path}?version=3").code == "not_found"


def test_nothing_is_a_blob_too(service: Running) -> None:
    """No bytes at all are stored, and come back as none."""
    sha256 = service.post("/v1/blobs", b"").json["sha256"]
    reply = service.get(f"/v1/blobs/{sha256}")

    assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "0")


def _head(service: Running, *lines: str) -> bytes:
    named = ["POST /v1/blobs HTTP/1.1", "host: h", f"authorization: Bearer {service.admin}", *lines, "", ""]
    return "\r\n".join(named).encode()


def test_the_limit_is_exact(service: Running) -> None:
    """16 MiB are stored; a byte more is refused by its length, and in chunks at the limit, in flat memory."""
    assert service.post("/v1/blobs", bytes(BLOB_BYTES_MAX)).json["size"] == BLOB_BYTES_MAX
    before = service.memory_bytes()
    with service.raw(_head(service, f"content-length: {BLOB_BYTES_MAX + 1}")) as bare:
        assert reply_on(bare).code == "invalid_request"
    with service.raw(_head(service, "transfer-encoding: chunked")) as bare:
        sending = Aside(_send, bare, (b"100000\r\n" + bytes(1 << 20) + b"\r\n") * 17 + b"0\r\n\r\n")
        assert reply_on(bare).code == "invalid_request"
        sending.result()
    compressed = service.post("/v1/blobs", b"x", headers={"content-encoding": "gzip"})
    assert (compressed.status, compressed.code) == (415, "invalid_request")
    assert service.memory_bytes() - before < 100 << 20


def _send(bare: object, body: bytes) -> None:
    try:
        bare.sendall(body)
    except OSError:
        return  # it was refused in the middle


def test_an_upload_torn_off_leaves_no_blob(service: Running) -> None:
    """A client that hangs up in the middle has stored nothing that can be read."""
    torn = os.urandom(2 << 20)
    for size in (10, 1 << 20, len(torn) - 1):
        with service.raw(_head(service, f"content-length: {len(torn)}") + torn[:size]):
            pass
    for part in (torn, torn[:10], torn[: 1 << 20]):
        assert service.get(f"/v1/blobs/{hashlib.sha256(part).hexdigest()}").code == "not_found"


def test_damaged_bytes_are_not_given_out(own: Running) -> None:
    """A blob that was damaged on disk is 503, whole, in part and by HEAD, before its first byte; it is
    logged, and putting it again mends it.
    """
    own.post("/v1/blobs", DATA)
    other = sqlite3.connect(own.store)
    with other:
        other.execute("update chunks set bytes = zeroblob(length(bytes)) where chunk = 2")
    other.close()

    for headers in ({}, {"range": "bytes=0-1"}):
        reply = own.get(f"/v1/blobs/{SHA256}", headers=headers)
        assert (reply.status, reply.code) == (503, "unavailable")
    assert own.call("HEAD", f"/v1/blobs/{SHA256}").status == 503
    assert SHA256 in own.log.read_text()
    assert own.post("/v1/blobs", DATA).status == 201
    assert own.get(f"/v1/blobs/{SHA256}").body == DATA


def test_a_client_that_reads_slowly_holds_up_nobody(service: Running) -> None:
    """Twenty clients that ask for megabytes and read none leave heartbeats and memory as they are."""
    before = service.memory_bytes()
    ask = f"GET /v1/blobs/{SHA256} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {service.admin}\r\n\r\n"
    slow = [service.raw(ask.encode()) for _ in range(20)]
    for _ in range(20):
        assert service.get("/healthz").status == 200
    assert service.memory_bytes() - before < 200 << 20
    for bare in slow:
        with bare:
            assert reply_on(bare).body == DATA
