"""What both clients tell httpx, and what they make of it when no answer comes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import httpx

from tessera.client.wire import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    NEVER_REACHED,
    NO_ANSWER,
    READ_SECONDS,
    Sent,
    Wire,
)
from tessera.errors import InvalidRequest, TesseraError, Unavailable

CONNECTIONS_MAX: Final = 1_000  # waiting claims hold one each

# Nothing of the request has left this machine when one of these is raised.
_BEFORE_SENDING: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

Http = TypeVar("Http", bound=httpx.Client | httpx.AsyncClient)


class Connections(Generic[Http]):
    """A client's connections, of one process: a forked child makes its own, for two processes that read from
    one connection get each other's answers.
    """

    def __init__(self, make: Callable[[], Http]) -> None:
        self._make = make
        self._mine = make()
        self._process = os.getpid()
        self._parents: list[Http] = []  # kept, for their end would be told to whoever is connected

    def mine(self) -> Http:
        """Those of this process; closed ones stay closed."""
        if os.getpid() != self._process and not self._mine.is_closed:
            self._parents.append(self._mine)
            self._mine, self._process = self._make(), os.getpid()
        return self._mine


def limits() -> httpx.Limits:
    """How many connections there may be, and how long an idle one is kept."""
    return httpx.Limits(
        max_connections=CONNECTIONS_MAX,
        max_keepalive_connections=CONNECTIONS_MAX,
        keepalive_expiry=IDLE_SECONDS,
    )


def timeout(sent: Sent) -> httpx.Timeout:
    """How long each part of a request may take."""
    return httpx.Timeout(READ_SECONDS + sent.waits_seconds, connect=CONNECT_SECONDS)


def url_of(wire: Wire, sent: Sent) -> httpx.URL:
    """The whole address of a request."""
    url = httpx.URL(wire.url + sent.path)
    return url.copy_merge_params(sent.query) if sent.query else url


def failure(error: Exception, url: str) -> TesseraError:
    """The refusal that stands for an answer that did not come. Of addresses it names only the service's URL,
    which its caller gave and which holds no key: what else httpx says may be nobody's to tell.
    """
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return InvalidRequest("the service's URL cannot be used")
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return Unavailable(
            "the service's certificate is not trusted; SSL_CERT_FILE can name one", definite=True
        )
    if isinstance(error, _BEFORE_SENDING):
        return Unavailable(f"{NEVER_REACHED} at {url} ({type(error).__name__})", definite=True)
    return Unavailable(f"{NO_ANSWER} ({type(error).__name__})", definite=False)
