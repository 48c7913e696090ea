"""Which log a store's lite claims go to, as the settings say. What lies elsewhere is reached when needed."""

from __future__ import annotations

from typing import Final

from tessera.errors import InvalidRequest
from tessera.lite.local import LOCAL
from tessera.lite.log import OrderedLog
from tessera.lite.mirror import Mirror
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
        return LOCAL
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
