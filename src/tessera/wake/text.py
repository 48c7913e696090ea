"""What of a wake reaches a terminal: text that no terminal reads as a key, in a frame that no agent reads
as a command.
"""

from __future__ import annotations

import re
from typing import Final

_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\u2421"}
_LINES: Final = re.compile("\r\n|\r|\u0085|\u2028|\u2029|\x0b|\x0c")
_HIDDEN: Final = frozenset(
    [*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C, 0x200B,
     0xFEFF, 0x00AD, 0x180E, *range(0x2060, 0x2066), *range(0x206A, 0x2070), *range(0xFFF9, 0xFFFC),
     *range(0xD800, 0xE000), *range(0xE0000, 0xE0080)]
)  # fmt: skip
_LINE_MARK: Final = " \u23ce "  # stands for a line's end where only one line may be written


def sanitise(text: str) -> str:
    """The text with everything visible: line ends are LF, a tab four blanks, control characters pictures, and
    what steers direction or hides is written as `\\u{…}`. Never yields ESC, CR, NUL, C1 or DEL.
    """
    text = _LINES.sub("\n", text).replace("\t", "    ")
    shown = "".join(char if char == "\n" else _shown(char) for char in text)
    return "\n".join(line.rstrip() for line in shown.strip("\n").split("\n"))


def _shown(char: str) -> str:
    code = ord(char)
    if code in _PICTURES:
        return _PICTURES[code]
    return f"\\u{{{code:04x}}}" if code in _HIDDEN else char


def head(message_id: str) -> str:
    """How every framed wake begins: what a writer looks for on a screen, and a hook in a prompt."""
    return f"[Tessera wake {message_id}"


def frame(message_id: str, sender: str, body: str, *, delivery: int = 1, repeat: bool = False) -> str:
    """The text to type. Its first character is `[` and its last `]`, so that no application takes it for a
    command, a file or a completion. A repeat of what was written before says so and leaves the body out.
    """
    said = f", delivery {delivery}: a repeat of the same message" if repeat else ""
    what = f"The text is in the first delivery, and in: tessera wake show {message_id}" if repeat else body
    return (
        f"{head(message_id)} from {sanitise(sender)[:100]}{said}]\n{sanitise(what)}\n"
        f"[end of {message_id}; acknowledge once: tessera wake ack {message_id}]"
    )


def one_line(text: str) -> str:
    """A framed wake for an application that would submit each line for itself."""
    return text.replace("\n", _LINE_MARK)


_MENTIONED: Final = re.compile(r"\[Tessera wake (m_[0-9a-f]{16})\b")


def mentioned(text: str) -> list[str]:
    """The ids of the wakes that a text quotes, each once, in order."""
    return list(dict.fromkeys(_MENTIONED.findall(text)))
