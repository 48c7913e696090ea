"""A mirror node's REST interface: the only place that shows a public topic's rows whole, payers and all."""

from __future__ import annotations

from functools import partial
from typing import Final

import httpx
import msgspec
from msgspec import Struct

from tessera.acts.act import Act, Work
from tessera.errors import InvalidRequest, Unavailable
from tessera.limits import MIRROR_PAGE_MAX, PAGE_MAX
from tessera.lite.local import LOCAL
from tessera.lite.log import Entered
from tessera.models import Proof, TopicMessage

SECONDS_MAX: Final = 10.0  # for one answer
_NOT_FOUND: Final = 404


class _Page(Struct, frozen=True):
    messages: list[TopicMessage]


_DECODER = msgspec.json.Decoder(_Page)


def rows_of(mirror: Mirror, topic_id: str, after: int, limit: int) -> list[TopicMessage]:
    """Rows of a topic after a sequence number, in order, however many pages of the mirror's they are."""
    rows: list[TopicMessage] = []
    while len(rows) < limit:
        page = mirror.messages(topic_id, after, limit - len(rows))
        if not page:
            break
        if page[-1].sequence_number <= after:
            raise Unavailable("the mirror node's answer does not go on", definite=True)
        rows += page
        after = page[-1].sequence_number
    return rows


class Mirror:
    """A mirror node by its URL, such as https://testnet.mirrornode.hedera.com. Safe from any thread."""

    def __init__(self, url: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise InvalidRequest("a mirror node's URL begins with http:// or https://")
        self._client = httpx.Client(base_url=url.rstrip("/"), timeout=SECONDS_MAX)

    def messages(self, topic_id: str, after: int = 0, limit: int = MIRROR_PAGE_MAX) -> list[TopicMessage]:
        """Rows of a topic after a sequence number, in order; an unknown topic has none. A page of the
        mirror's may be shorter than asked: whoever wants more goes on after its last row.
        """
        return self._page(topic_id, limit, sequencenumber=f"gt:{after}")

    def since(self, topic_id: str, consensus_timestamp: str) -> list[TopicMessage]:
        """The rows of a topic from a consensus time on, as far as `PAGE_MAX` and one page more."""
        first = self._page(topic_id, MIRROR_PAGE_MAX, timestamp=f"gte:{consensus_timestamp}")
        if len(first) < MIRROR_PAGE_MAX:
            return first
        return first + rows_of(self, topic_id, first[-1].sequence_number, PAGE_MAX)

    def close(self) -> None:
        """Let go of its connections."""
        self._client.close()

    def _page(self, topic_id: str, limit: int, **which: str) -> list[TopicMessage]:
        query = {"limit": str(min(limit, MIRROR_PAGE_MAX)), "order": "asc", **which}
        try:
            answer = self._client.get(f"/api/v1/topics/{topic_id}/messages", params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable(
                f"the mirror node does not answer ({type(error).__name__})", definite=True
            ) from error
        if answer.status_code == _NOT_FOUND:
            return []
        if answer.status_code != httpx.codes.OK:
            raise Unavailable(f"the mirror node answers {answer.status_code}", definite=True)
        try:
            rows = _DECODER.decode(answer.content).messages
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unavailable("the mirror node's answer is no page of a topic", definite=True) from error
        return rows


class MirrorLog:
    """A log that is only read, from a mirror node: what `verify` needs, without an account or a key."""

    at_home = False

    def __init__(self, url: str, account: str | None) -> None:
        self._mirror = Mirror(url)
        self._account = account

    def append(self, topic_id: str, message: bytes) -> Act[Proof]:
        """Nothing is ever appended."""
        yield from ()
        raise InvalidRequest("a mirror node takes no messages")

    def enter(self, topic_id: str, message: bytes, after: int) -> Act[Entered]:
        """No claim's either."""
        yield from ()
        raise InvalidRequest("a mirror node takes no messages")

    def read(self, topic_id: str, after: int = 0, limit: int = PAGE_MAX) -> Act[list[TopicMessage]]:
        """The messages of a topic after a sequence number, in order, as far as the mirror shows them."""
        rows: list[TopicMessage] = yield Work(
            partial(rows_of, self._mirror, topic_id, after, limit), outside=True
        )
        return rows

    def make_topic(self) -> Act[str]:
        """No topic is ever made."""
        yield from ()
        raise InvalidRequest("a mirror node makes no topics")

    def payer(self) -> Act[str]:
        """The account that the settings name, or the store's own."""
        if self._account is not None:
            return self._account
        own: str = yield from LOCAL.payer()
        return own

    def close(self) -> None:
        """Let go of the mirror."""
        self._mirror.close()
