"""Under which names `/mcp` may be asked, wherever it is served."""

from __future__ import annotations

import pytest

from tessera.errors import Forbidden
from tessera.service.mcp import Strangers
from tessera.service.requests import Headers
from tessera.settings import from_environ


@pytest.mark.parametrize(
    ("env", "host", "origin", "welcome"),
    [
        ({}, "LOCALHOST:8787", None, True), ({}, "127.0.0.1:8787", "http://[::1]:3000", True),
        ({}, "", None, False), ({}, "192.0.2.7", None, False),
        ({"HOST": "192.0.2.7"}, "192.0.2.7:8787", None, True),
        ({"HOST": "192.0.2.7"}, "192.0.2.7", "http://localhost:3000", False),
        ({"HOST": "192.0.2.7"}, "api.example", None, False),
        ({"HOST": "192.0.2.7", "MCP_HOSTS": "api.example, b.example"}, "b.example:443", None, True),
        ({"HOST": "0.0.0.0"}, "192.0.2.9:8787", None, True), ({"HOST": "::"}, "[2001:db8::1]:87", None, True),
        ({"HOST": "0.0.0.0"}, "api.example", None, False),
        ({"EDGE_SECRET": "12345678"}, "api.example", None, True),
        ({"EDGE_SECRET": "12345678"}, "api.example", "https://evil.example", False),
    ],
)  # fmt: skip
def test_who_is_a_stranger(env: dict[str, str], host: str, origin: str | None, welcome: bool) -> None:
    """Its own address and loopback names are known, listed names too; all addresses where it serves all, and
    every name behind an edge. Loopback pages are let in where it serves the loopback alone.
    """
    settings = from_environ({f"TESSERA_{name}": value for name, value in env.items()})
    headers = [(b"host", host.encode())] + ([(b"origin", origin.encode())] if origin else [])
    if welcome:
        Strangers(settings).refuse(Headers(headers))
    else:
        with pytest.raises(Forbidden):
            Strangers(settings).refuse(Headers(headers))
