"""Pages of other origins: only those on the list may read, and an origin is never a right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service.running import Running, serving

LISTED = "https://board.example"


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with a list of two origins."""
    folder: Path = tmp_path_factory.mktemp("cors")
    with serving(folder, TESSERA_CORS_ORIGINS=f"{LISTED}, http://localhost:3000") as running:
        yield running


@pytest.mark.parametrize("origin", [
    "https://other.example", "null", f"{LISTED}.evil.example", f"{LISTED}:444", LISTED.upper(),
    "http://board.example", f"{LISTED}/", "*",
])  # fmt: skip
def test_h15_other_origins_read_nothing(listing: Running, origin: str) -> None:
    """H15: an origin that is not on the list letter for letter gets no header of permission, and `Vary`."""
    reply = listing.get("/v1/queues", headers={"origin": origin})

    assert not [name for name in reply.headers if name.startswith("access-control")]
    assert reply.headers["vary"] == "Origin"


@pytest.mark.parametrize("path", ["/v1/queues", "/v1/nothing", "/healthz", "/v1/tasks/claim"])
def test_h15_a_listed_origin_reads_every_answer(listing: Running, path: str) -> None:
    """H15: a listed origin may read answers and refusals alike; never `*`, never with credentials."""
    for key in (None, "admin"):
        reply = listing.get(path, key=key, headers={"origin": LISTED})
        assert reply.headers["access-control-allow-origin"] == LISTED
        assert "access-control-allow-credentials" not in reply.headers
        assert reply.headers["vary"] == "Origin"


def test_h15_preflight_of_a_submit(listing: Running, service: Running) -> None:
    """H15: the preflight of a submit needs no key and allows its method and headers, on the list only."""
    asked = {
        "origin": LISTED,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, idempotency-key",
    }
    reply = listing.call("OPTIONS", "/v1/tasks/submit", key=None, headers=asked)

    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == LISTED
    assert "POST" in reply.headers["access-control-allow-methods"]
    allowed = reply.headers["access-control-allow-headers"].split(", ")
    assert {"authorization", "content-type", "idempotency-key"} <= set(allowed)
    without = service.call("OPTIONS", "/v1/tasks/submit", key=None, headers=asked)
    assert without.status == 204
    assert not [name for name in without.headers if name.startswith(("access-control", "vary"))]


def test_h16_an_origin_is_no_key(listing: Running) -> None:
    """H16: a listed origin without a key is `unauthorized` like anybody."""
    reply = listing.post(
        "/v1/tasks/claim", {"queue": "q", "worker": "w"}, key=None, headers={"origin": LISTED}
    )

    assert (reply.status, reply.code) == (401, "unauthorized")
