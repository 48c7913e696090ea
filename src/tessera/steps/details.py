"""What a workspace's task is about: title, brief and input, kept as the document that is its Tessera brief,
so that one hash guards them and one place hands them out.
"""

from __future__ import annotations

import msgspec

from tessera.errors import InvalidRequest
from tessera.limits import DETAIL_CHARS_MAX
from tessera.models import Details


def of_brief(brief: str, place: str) -> Details:
    """The details that a brief holds; refuses any other brief with its place, and says nothing of what it
    holds.
    """
    try:
        return msgspec.json.decode(brief, type=Details)
    except msgspec.MsgspecError as error:
        detail = f"{place}.brief: in a workspace it has title, brief (both text) and input, and no more"
        raise InvalidRequest(detail[:DETAIL_CHARS_MAX]) from error


def or_nothing(brief: str) -> Details:
    """The same for a stored brief; of a damaged one (`null`) nothing."""
    return Details(title="", brief="") if brief == "null" else msgspec.json.decode(brief, type=Details)
