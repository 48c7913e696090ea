"""Requests as anybody can send them, without the client that is under test too."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Answer:
    """What a service said."""

    status: int
    headers: Message
    text: str

    @property
    def body(self) -> Any:
        """The text as JSON."""
        return json.loads(self.text)

    @property
    def whole(self) -> str:
        """Everything that travelled, to look for what must not be in it."""
        return f"{self.headers}{self.text}"

    def refuses(self, status: int, code: str) -> bool:
        """Whether this is the problem document of that refusal."""
        return (
            self.status == status
            and self.headers.get_content_type() == "application/problem+json"
            and (self.body["status"], self.body["code"]) == (status, code)
            and {"type", "title", "detail"} <= self.body.keys()
        )


def ask(url: str, method: str, path: str, key: str | None = None, body: Any = None, **headers: str) -> Answer:
    """One request on a connection of its own. `headers` by their names with `_` for `-`."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if key is not None:
        sent["Authorization"] = f"Bearer {key}"
    content = None
    if body is not None:
        sent["Content-Type"] = "application/json"
        content = json.dumps(body).encode()
    connection = kind(parts.netloc, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, parts.path.rstrip("/") + path, content, sent)
        got = connection.getresponse()
        return Answer(got.status, got.headers, got.read().decode())
    finally:
        connection.close()
