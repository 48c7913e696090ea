"""A message as its recipient gets it: a few header lines, then the body. Rendered strictly, read leniently.

Nothing is quoted or escaped, so nothing that could end a line may be rendered: `forms.require_line` stands
before every field.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Parsed(Struct, frozen=True):
    """What the text of a message says; None for what it does not say."""

    body: str
    from_: str | None = None
    from_id: str | None = None
    subject: str | None = None
    in_reply_to: str | None = None
    tags: list[str] = []
    priority: str | None = None
    idempotency_key: str | None = None
    stream: str | None = None
    event_id: str | None = None
    event_key: str | None = None


_FIELDS = {
    "from": "from_", "from-id": "from_id", "subject": "subject", "in-reply-to": "in_reply_to",
    "priority": "priority", "idempotency-key": "idempotency_key", "stream": "stream",
    "event-id": "event_id", "key": "event_key",
}  # fmt: skip


def render(
    from_: str,
    body: str,
    *,
    from_id: str | None = None,
    subject: str | None = None,
    in_reply_to: str | None = None,
    tags: Sequence[str] = (),
    idempotency_key: str | None = None,
) -> str:
    """The text of a message. The body gets a final newline if it has none."""
    lines = {
        "from": from_,
        "from-id": from_id,
        "subject": subject,
        "in-reply-to": in_reply_to,
        "tags": ", ".join(tags) if tags else None,
        "idempotency-key": idempotency_key,
    }
    head = "".join(f"{name}: {value}\n" for name, value in lines.items() if value is not None)
    return f"---\n{head}---\n{body}" + ("" if body.endswith("\n") else "\n")


def parse(text: str) -> Parsed:
    """What a message says. A text that does not open with `---`, or does not close its header, is all body;
    unknown header lines are passed over, of a repeated one the last counts.
    """
    opener = next((opener for opener in ("---\n", "---\r\n") if text.startswith(opener)), None)
    close = -1 if opener is None else text.find("\n---", len(opener))
    if opener is None or close < 0:
        return Parsed(body=text)
    end = text.find("\n", close + 4)
    body = text[end + 1 :] if end >= 0 else ""
    fields: dict[str, str] = {}
    tags: list[str] = []
    for line in text[len(opener) : close].split("\n"):
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if colon and name == "tags":
            tags = [tag for part in value.split(",") if (tag := part.strip())]
        elif colon and name in _FIELDS:
            fields[_FIELDS[name]] = value
    return Parsed(body=body, tags=tags, **fields)
