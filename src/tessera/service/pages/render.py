"""Templates and the words they use. Every text is escaped; what others wrote is shown as text alone."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from tessera.limits import DAY_SECONDS, SECOND_US, SHOWN_CHARS_MAX
from tessera.names import VERSION
from tessera.runtime import rfc3339
from tessera.states import STATES

HERE: Final = Path(__file__).parent
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNITS: Final = (("d", DAY_SECONDS), ("h", 3_600), ("min", 60), ("s", 1))
_MARKS: Final = {
    "ready": "\u25cb", "leased": "\u25d0", "waiting": "\u25c7", "done": "\u25cf", "dead": "\u2715",
    "cancelled": "\u2013",
}  # fmt: skip


def page(template: str, **words: Any) -> bytes:
    """A page as bytes. A word that the template wants and does not get is an error."""
    return _environment().get_template(template).render(**words).encode(errors="replace")


def static(name: str) -> bytes:
    """A file that the pages refer to."""
    return (HERE / "static" / name).read_bytes()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.filters.update(
        duration=duration, instant=rfc3339, text=text, document=document, short=short,
        compact=compact, plain=plain, marked=marked,
    )  # fmt: skip
    environment.globals.update(
        version=VERSION, marks=_MARKS, states=STATES,
        asset=lambda name: f"/pages/{name}?v={hashlib.sha256(static(name)).hexdigest()[:12]}",
    )  # fmt: skip
    return environment


def duration(seconds: float) -> str:
    """A time span in its two largest units, such as `2 h 5 min`."""
    left = max(0, int(seconds))
    parts = []
    for unit, size in _UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2]) or "0 s"


def text(said: str | None) -> str:
    """What somebody wrote, without characters that could reach beyond their place, and not endlessly."""
    whole = said or ""
    cut = whole[:SHOWN_CHARS_MAX]
    left = len(whole) - len(cut)
    return _CONTROLS.sub("\ufffd", cut) + (f"\n… and {left} characters more" if left else "")


def document(raw: msgspec.Raw | str | None) -> str:
    """A JSON document, indented, with control characters still escaped as JSON escapes them."""
    if raw is None:
        return ""
    body = raw.encode() if isinstance(raw, str) else bytes(raw)
    try:
        return text(msgspec.json.format(body, indent=2).decode())
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "(no JSON)"


def compact(raw: msgspec.Raw) -> str:
    """A small document on one line; nothing for null."""
    body = bytes(raw)
    return "" if body == b"null" else text(body.decode(errors="replace"))


def plain(choice: str) -> str:
    """A choice for eyes: a text without its quotes, anything else as JSON."""
    value = msgspec.json.decode(choice)
    return text(value) if isinstance(value, str) and value else document(choice)


def marked(said: str) -> Markup:
    """Prose in which `backticks` mean code; everything in it is escaped."""
    parts = said.split("`")
    if not len(parts) % 2:
        return escape(said)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def short(task_id: str) -> str:
    """The end of a long id, enough to tell neighbours apart."""
    return task_id if len(task_id) <= 20 else f"…{task_id[-12:]}"


def seconds_between(later_us: int, earlier_us: int) -> float:
    """The seconds from one instant to a later one."""
    return (later_us - earlier_us) / SECOND_US
