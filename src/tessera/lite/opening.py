"""Which log a store's lite claims go to, as the settings say. What lies elsewhere is reached when needed."""

from __future__ import annotations

from functools import partial
from typing import Final

from tessera.acts.act import Act, Work
from tessera.errors import InvalidRequest
from tessera.limits import PAGE_MAX
from tessera.lite.local import LocalLog
from tessera.lite.log import Entered, OrderedLog
from tessera.lite.mirror import Mirror, rows_of
from tessera.models import Proof, TopicMessage
from tessera.names import HOW_TO_GET_HEDERA
from tessera.runtime import Runtime
from tessera.settings import LogSettings

PUBLIC_MIRRORS: Final = {
    "mainnet": "https://mainnet-public.mirrornode.hedera.com",
    "testnet": "https://testnet.mirrornode.hedera.com",
    "previewnet": "https://previewnet.mirrornode.hedera.com",
}


def log_of(settings: LogSettings, runtime: Runtime) -> OrderedLog:
    """The log that the settings name. Refuses settings that lack something with `invalid_request`."""
    if settings.lite_log == "local":
        return LocalLog()
    if settings.hedera_account is None or settings.hedera_key_file is None:
        raise InvalidRequest("a log on Hedera needs TESSERA_HEDERA_ACCOUNT and TESSERA_HEDERA_KEY_FILE")
    try:
        from tessera.lite.hedera import HederaLog
        from tessera.lite.network import Network, key_in, named_or_nodes
    except ModuleNotFoundError as error:
        raise InvalidRequest(f"TESSERA_LITE_LOG=hedera needs Hedera's SDK: {HOW_TO_GET_HEDERA}") from error
    nodes = named_or_nodes(settings.hedera_network)
    mirror = settings.lite_mirror or PUBLIC_MIRRORS.get(settings.hedera_network)
    if mirror is None:
        raise InvalidRequest("TESSERA_LITE_MIRROR: a network of your own needs its mirror's URL")
    submit = settings.hedera_submit_key_file
    network = Network(
        nodes,
        settings.hedera_account,
        key_in(settings.hedera_key_file),
        submit_key=None if submit is None else key_in(submit),
        fee_hbar_max=settings.hedera_fee_hbar_max,
    )
    return HederaLog(network, Mirror(mirror), runtime)


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
        own: str = yield from LocalLog().payer()
        return own

    def close(self) -> None:
        """Let go of the mirror."""
        self._mirror.close()
