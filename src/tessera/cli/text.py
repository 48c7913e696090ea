"""Text that somebody else wrote, made harmless for a terminal."""

from __future__ import annotations


def visible(text: str) -> str:
    """The text with control, direction and other unprintable characters written as escapes; newlines stay."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def shortened(text: str, width: int) -> str:
    """One visible line of at most `width` characters."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= width else line[: width - 1] + "…"


def cut_front(text: str, size: int) -> str:
    """The end of a text, at most `size` UTF-8 bytes and never half a character."""
    return text.encode()[-size:].decode(errors="ignore") if size else ""
