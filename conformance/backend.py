"""What a backend offers the suite: a client, the passing of time, a restart, and clients under a key."""

from __future__ import annotations

from typing import Any, Protocol

from tessera.library import Tessera


class Backend(Protocol):
    """One implementation under test. `client` has all rights and is safe to call from several threads.

    The methods of `Tessera` are the client's protocol: same names, same arguments, same models as answers,
    and a `TesseraError` with a `code` as every refusal. A backend behind a wire gives `Tessera` a door of
    its own.
    """

    client: Tessera

    def pass_seconds(self, seconds: float) -> None:
        """Return when at least that much time has passed for the backend: by its script, or by waiting."""

    def restart(self) -> None:
        """Stop the backend, start it again on what it had stored, and renew `client`."""

    def close(self) -> None:
        """Let go of everything; the session is over."""

    def keyed(self, **grant: Any) -> Tessera:
        """A client that acts under a new key of this grant."""
        return self.client.as_key(self.client.issue_key(**grant).key)


class ServiceBackend(Backend, Protocol):
    """One that is a service: the suite also asks it without its client."""

    url: str
    key: str  # with all rights

    def said(self) -> str:
        """All that it has logged."""
