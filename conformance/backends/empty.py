"""A backend that does nothing, to prove that the suite notices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from conformance.backend import Backend
from tessera.library import Tessera

# Empty answers of the right shape are harder to tell from work than None is.
ANSWERS: dict[str, Callable[[], Any]] = {
    "enqueue": str, "requeue": str, "split": list, "queues": list, "results": list, "events": list,
    "keys": list, "reap": int, "enqueue_batch": list, "claim_batch": list, "submit_batch": list,
    "put_blob": str, "get_blob": bytes, "get_object": bytes, "buckets": list,
}  # fmt: skip


class Nothing:
    """A client that takes every call, does nothing, and answers with nothing."""

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return lambda *_arguments, **_fields: ANSWERS.get(verb, lambda: None)()


class Agreeable(BaseHTTPRequestHandler):
    """Answers every request with 200 and an empty object."""

    def handle_one_request(self) -> None:
        """Whatever was asked."""
        self.raw_requestline = self.rfile.readline(65_537)
        self.close_connection = True
        if not self.raw_requestline or not self.parse_request():
            return
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


class EmptyBackend(Backend):
    """Nothing is stored, no time passes, no key is needed."""

    def __init__(self) -> None:
        self.client = cast(Tessera, Nothing())
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Agreeable)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.key = "k" * 43

    def said(self) -> str:
        """Nothing is logged."""
        return ""

    def pass_seconds(self, seconds: float) -> None:
        """There is no clock."""

    def restart(self) -> None:
        """There is nothing to restart."""

    def close(self) -> None:
        """Let go of the port."""
        self._server.shutdown()
        self._server.server_close()

    def keyed(self, **grant: Any) -> Tessera:
        return self.client
