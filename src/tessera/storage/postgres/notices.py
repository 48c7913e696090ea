"""What a commit is told as, to those who listen in other processes."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from tessera.limits import NEWS_BYTES_MAX
from tessera.names import ENDING_EVENTS
from tessera.storage.port import News

EVERYTHING = News(foreign=True)  # look anew: something may have changed


class Notice(Struct, frozen=True, omit_defaults=True):
    """A notification between processes."""

    node: str  # whose it is
    ready: list[str] = []
    events: list[tuple[str, str | None]] = []  # types, each once; of those that may end a task, with the task
    everything: bool = False  # too much to tell


def encoded(news: News, node: str) -> str | None:
    """The notification, if there is anything to tell; small enough for PostgreSQL."""
    if not (news.ready or news.events):
        return None
    told = {(type_, task_id if type_ in ENDING_EVENTS else None) for type_, task_id in news.events}
    notice = Notice(node, sorted(news.ready), sorted(told, key=str))
    text = msgspec.json.encode(notice)
    if len(text) > NEWS_BYTES_MAX:
        text = msgspec.json.encode(Notice(node, everything=True))
    return text.decode()


def decoded(text: str, node: str) -> News | None:
    """The news of a notification; None of one's own."""
    try:
        notice = msgspec.json.decode(text, type=Notice)
    except msgspec.MsgspecError:
        return EVERYTHING  # of another version
    if notice.node == node:
        return None
    return EVERYTHING if notice.everything else News(ready=frozenset(notice.ready), events=notice.events)
