"""How many lists and objects a body holds, told from its brackets before any is made of it. Each costs a
microsecond or more of the loop, a thousand times what a byte of text costs; over MCP several.
"""

from __future__ import annotations

from typing import Final

from tessera.errors import InvalidRequest
from tessera.limits import PARTS_PER_BODY_MAX

_ELSE: Final = bytes(set(range(256)) - set(b'"[{'))


def refuse_many_parts(body: bytes) -> None:
    """Refuse JSON of more lists and objects than a body may hold. Brackets in a string are none."""
    if _opened(body) > PARTS_PER_BODY_MAX and _opened(_without_strings(body)) > PARTS_PER_BODY_MAX:
        raise InvalidRequest(
            f"the body holds more than {PARTS_PER_BODY_MAX:,} lists and objects: send less at once"
        )


def _opened(body: bytes) -> int:
    return body.count(b"[") + body.count(b"{")


def _without_strings(body: bytes) -> bytes:
    """The brackets outside of strings. Of the quotes that are not escaped every second one ends a string: so
    two that meet, when all else is gone, can go as well, before it is split at those that are left.
    """
    bare = body.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _ELSE).replace(b'""', b"")
    return b"".join(bare.split(b'"')[::2])
