"""The forms of names: filenames, ids, addresses, keys, and lines of text. All pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from tessera import limits
from tessera.errors import InvalidRequest

_FILENAME: Final = re.compile(r"[0-9]{13}-[0-9a-z]{6}\.md")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_SEGMENT: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS: Final = re.compile(rf"{_SEGMENT}(?:\.{_SEGMENT})*")
_ID: Final = re.compile(r"[\x21-\x2e\x30-\x5b\x5d-\x7e]{1,255}")  # printable, neither space nor a slash
_COMPONENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._~-]{0,200}")
_BREAKS: Final = frozenset({"Cc", "Zl", "Zp", "Cs"})  # categories that could end or corrupt a line

SYMBOLS: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # of a new filename: none is mistaken for another
FILENAME_MS_MIN: Final = 10**12  # the first and the last instant that thirteen digits can tell
FILENAME_MS_MAX: Final = 10**13 - 1


def is_filename(name: str) -> bool:
    """Whether it is a canonical message filename: milliseconds since 1970, `-`, six symbols, `.md`."""
    return _FILENAME.fullmatch(name) is not None


def filename_ms(filename: str) -> int:
    """The instant that a canonical filename tells, in milliseconds since 1970."""
    return int(filename[:13])


def fresh_filename(now_ms: int, secret: str) -> str:
    """A canonical filename of this instant; its six symbols are drawn from a fresh secret.

    Refuses (`InvalidRequest`) a clock that thirteen digits cannot tell.
    """
    if not FILENAME_MS_MIN <= now_ms <= FILENAME_MS_MAX:
        raise InvalidRequest(f"the clock says {now_ms} ms since 1970, which no filename can tell")
    chance = hashlib.sha256(secret.encode()).digest()
    return f"{now_ms}-{''.join(SYMBOLS[byte % 32] for byte in chance[:6])}.md"


def is_digest(text: str) -> bool:
    """Whether it is a SHA-256 in lower-case hex."""
    return _DIGEST.fullmatch(text) is not None


def is_id(text: str) -> bool:
    """Whether it could be an agent's id: 1 to 255 printable ASCII characters, opaque, never a path."""
    return _ID.fullmatch(text) is not None and not (text[0] == "." or text[-1] == "." or ".." in text)


def is_address(text: str) -> bool:
    """Whether it could be an address, or a host: dotted segments of a-z, 0-9 and inner hyphens."""
    return len(text) <= limits.ADDRESS_CHARS_MAX and _ADDRESS.fullmatch(text) is not None


def is_component(text: str) -> bool:
    """Whether it may be one step of a path in the catalog."""
    return _COMPONENT.fullmatch(text) is not None and ".." not in text and text[-1] != "."


def dashed(hex_digits: str) -> str:
    """A UUID's 32 hex digits as it is usually written."""
    parts = (hex_digits[:8], hex_digits[8:12], hex_digits[12:16], hex_digits[16:20], hex_digits[20:])
    return "-".join(part for part in parts if part)


def breaks_line(text: str) -> bool:
    """Whether some character could end a line, drive a terminal, or not be written as UTF-8."""
    return any(unicodedata.category(char) in _BREAKS for char in text)


def require_line(text: str | None, where: str) -> None:
    """Refuse (`InvalidRequest`) a header value that is not one line of ordinary text."""
    if text is None:
        return
    if len(text) > limits.MESSAGE_LINE_CHARS_MAX:
        raise InvalidRequest(f"{where}: more than {limits.MESSAGE_LINE_CHARS_MAX:,} characters")
    if breaks_line(text):
        raise InvalidRequest(f"{where}: control characters and line breaks are refused")


def require_key(key: str | None) -> None:
    """Refuse (`InvalidRequest`) an idempotency key that a header line could not carry unchanged."""
    if key is None:
        return
    require_line(key, "idempotency_key")
    if not key or key != key.strip():
        raise InvalidRequest(
            "message idempotency key must be non-empty single-line text without surrounding whitespace"
        )


def one_line(text: str) -> str:
    """A foreign header value made safe for a header of ours: what breaks a line becomes a space."""
    safe = "".join(" " if breaks_line(char) else char for char in text)
    return safe[: limits.MESSAGE_LINE_CHARS_MAX].strip()
