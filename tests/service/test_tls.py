"""A service with a certificate: asked by those who trust it, and ended in good time."""

from __future__ import annotations

import signal
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from service.running import HOST, Running, serving

import tessera
from tessera.errors import Unavailable


@pytest.fixture
def authority() -> trustme.CA:
    """Who signs the service's certificate."""
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA, tmp_path: Path) -> Iterator[Running]:
    """A service with a certificate."""
    made = authority.issue_cert(HOST)
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made.cert_chain_pems[0].write_to_path(certificate)
    made.private_key_pem.write_to_path(key)
    with serving(tmp_path, "--tls-cert", str(certificate), "--tls-key", str(key)) as running:
        yield running


def test_a_client_that_trusts(
    secure: Running, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever trusts the certificate's authority is answered; whoever does not is told what to do."""
    url = f"https://{HOST}:{secure.port}"
    with tessera.open(url, key=secure.admin) as stranger, pytest.raises(Unavailable, match="SSL_CERT_FILE"):
        stranger.health()
    trusted = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(trusted)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with tessera.open(url, key=secure.admin) as store:
        store.define_queue("q")
        assert [queue.name for queue in store.queues()] == ["q"]


def test_silent_clients_do_not_hold_up_the_end(secure: Running, authority: trustme.CA) -> None:
    """A client that keeps its connection open and says nothing does not keep a service from stopping."""
    trusts = ssl.create_default_context()
    authority.configure_trust(trusts)
    with socket.create_connection((HOST, secure.port)) as plain, trusts.wrap_socket(
        plain, server_hostname=HOST
    ) as silent:  # fmt: skip
        silent.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert silent.recv(4096).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        secure.process.send_signal(signal.SIGTERM)
        assert secure.process.wait(30) == 0
        assert time.monotonic() - began < 10
