"""What the environment says of a service. (Contract §5.)"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from tessera.errors import InvalidRequest
from tessera.limits import LABEL_CHARS_MAX
from tessera.names import ENTITY_PATTERN, HOST_PATTERN, ORIGIN_PATTERN
from tessera.wording import expected

_PREFIX = "TESSERA_"

Origin = Annotated[str, Meta(pattern=ORIGIN_PATTERN)]
Host = Annotated[str, Meta(pattern=HOST_PATTERN)]
_LISTS = ("cors_origins", "mcp_hosts")


class Settings(Struct, frozen=True):
    """Every setting of the service. What is left out of the environment, or empty there, has its default."""

    store: str = "tessera.db"
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8787  # 0: whichever is free
    edge_secret: Annotated[str, Meta(min_length=8, max_length=LABEL_CHARS_MAX)] | None = None
    cors_origins: tuple[Origin, ...] = ()
    reap_seconds: Annotated[float, Meta(ge=0.1, le=60)] = 5.0
    claims_per_minute: Annotated[int, Meta(ge=1)] | None = None  # of one key; None: no quota
    max_pending_claims: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000  # for work or for their turn
    claim_deadline_seconds: Annotated[float, Meta(ge=0.1, le=60)] = 10.0  # for a claim's turn
    metrics_port: Annotated[int, Meta(ge=0, le=65_535)] | None = None  # of 127.0.0.1: /metrics without a key
    traces: Literal["off", "on"] = "off"  # whether OpenTelemetry is told of every verb
    mcp_tools: Literal["core", "all"] = "core"  # a worker's seven, or with them those of who hands out work
    mcp_hosts: tuple[Host, ...] = ()  # names, beside its own address, under which /mcp may be asked
    log: Literal["text", "json"] = "text"


class LogSettings(Struct, frozen=True):
    """Where the log of lite claims lies: in the store, or on a Hedera network, which needs account, key and
    mirror.
    """

    lite_log: Literal["local", "hedera"] = "local"
    hedera_network: Annotated[str, Meta(min_length=1)] = "testnet"  # or nodes: account=host:port, …
    hedera_account: Annotated[str, Meta(pattern=ENTITY_PATTERN)] | None = None  # that pays
    hedera_key_file: str | None = None  # its private key
    hedera_submit_key_file: str | None = None  # of the topics; None: the account's
    hedera_fee_hbar_max: Annotated[float, Meta(gt=0, le=1_000)] = 1.0  # for one message
    lite_mirror: str | None = None  # a mirror node's URL; None: the public one of the network


AnySettings = TypeVar("AnySettings", Settings, LogSettings)


def from_environ(environ: Mapping[str, str], **given: Any) -> Settings:
    """The service's settings of an environment; those `given` (not None) count more. A wrong value is refused
    with `invalid_request`, in one line that names its variable and does not repeat it.
    """
    return _read(Settings, environ, given)


def log_from_environ(environ: Mapping[str, str]) -> LogSettings:
    """The same for the log of lite claims."""
    return _read(LogSettings, environ, {})


def _read(model: type[AnySettings], environ: Mapping[str, str], given: dict[str, Any]) -> AnySettings:
    fields: dict[str, Any] = {}
    for name in model.__struct_fields__:
        text = environ.get(f"{_PREFIX}{name.upper()}")
        if text:
            fields[name] = _listed(text) if name in _LISTS else text
        if given.get(name) is not None:
            fields[name] = given[name]
    for name, value in fields.items():
        try:
            msgspec.convert({name: value}, model, strict=False)
        except msgspec.ValidationError as error:
            reason, path = expected(error, model, of_text=True)
            place = f"number {int(path[len(name) + 1 : -1]) + 1} of the list: " if name in _LISTS else ""
            raise InvalidRequest(f"{_PREFIX}{name.upper()}: {place}{reason}") from error
    return msgspec.convert(fields, model, strict=False)


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
