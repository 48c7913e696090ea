"""A Hedera network through its own SDK, which only this file knows: it is an extra."""

from __future__ import annotations

import enum
import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hiero_sdk_python import (
    AccountId,
    Client,
    Hbar,
    PrivateKey,
    ResponseCode,
    TopicCreateTransaction,
    TopicId,
    TopicMessageSubmitTransaction,
    TransactionGetReceiptQuery,
)
from hiero_sdk_python.exceptions import MaxAttemptsError, PrecheckError, ReceiptStatusError
from hiero_sdk_python.logger.log_level import LogLevel
from msgspec import Struct

from tessera.errors import InvalidRequest, Unavailable

ATTEMPT_SECONDS: Final = 5.0  # for a node to answer
RECEIPT_SECONDS: Final = 10.0  # for consensus
VALID_SECONDS: Final = 120  # in which the network may take a signed message
_NAMED: Final = ("mainnet", "testnet", "previewnet")
_LATER: Final = frozenset(  # not taken, but it may be the next time
    {ResponseCode.BUSY, ResponseCode.PLATFORM_NOT_ACTIVE, ResponseCode.PLATFORM_TRANSACTION_NOT_CREATED,
     ResponseCode.INVALID_NODE_ACCOUNT}
)  # fmt: skip


logging.getLogger("hiero_sdk_python").addHandler(logging.NullHandler())  # else it writes to standard output


class Outcome(enum.Enum):
    """What came of sending a message once."""

    TAKEN = "taken"
    LATER = "later"  # certainly not taken
    UNKNOWN = "unknown"  # it may have been
    REFUSED = "refused"  # certainly not taken, nor will it be


class Signed(Struct, frozen=True):
    """A signed message: the same transaction however often it is sent."""

    transaction: Any
    transaction_id: str  # account@seconds.nanoseconds
    valid_start: str  # seconds.nanoseconds


class Placed(Struct, frozen=True):
    """Where the network put a message, from its receipt."""

    sequence_number: int
    running_hash: bytes


class Network:
    """A network, and the account that pays. Safe from any thread; nothing is reached before it is needed."""

    def __init__(
        self, network: str | Mapping[str, str], account: str, key: str, *, submit_key: str | None = None,
        fee_hbar_max: float = 1.0,
    ) -> None:  # fmt: skip
        """`network` is a public one's name, or accounts of nodes by `host:port`. `key` and `submit_key` are
        private keys in hex, DER or raw; without a submit key topics are written with the account's.
        """
        self.account = account
        self._name = network
        self._key = _private_key(key)
        self._submit_key = self._key if submit_key is None else _private_key(submit_key)
        self._fee = Hbar(fee_hbar_max)
        self._lock = threading.Lock()
        self._opened: Any = None

    def sign(self, topic_id: str, message: bytes) -> Signed:
        """A message ready to be sent. Refuses with `unavailable` (definite) if no network is to be had."""
        transaction = TopicMessageSubmitTransaction(
            topic_id=TopicId.from_string(topic_id), message=message, max_chunks=1
        )
        transaction.transaction_fee = self._fee
        transaction.set_transaction_valid_duration(VALID_SECONDS)
        transaction.set_max_attempts(1).set_min_backoff(0).set_max_backoff(0)  # who sends it waits, too
        transaction.set_grpc_deadline(ATTEMPT_SECONDS)
        transaction.freeze_with(self._client()).sign(self._key)
        if self._submit_key is not self._key:
            transaction.sign(self._submit_key)
        named = transaction.transaction_id
        start = f"{named.valid_start.seconds}.{named.valid_start.nanos:09d}"
        return Signed(transaction, f"{named.account_id}@{start}", start)

    def submit(self, signed: Signed) -> tuple[Outcome, str]:
        """Send it once; what came of that, and the network's word for it."""
        try:
            signed.transaction.execute(self._client(), wait_for_receipt=False)
        except PrecheckError as error:
            return _outcome(error), error.status.name
        except MaxAttemptsError as error:
            if isinstance(error.last_error, PrecheckError):
                return _outcome(error.last_error), error.last_error.status.name
            if error.last_error is None:  # no node was asked, for all are resting
                return Outcome.LATER, "no node"
            return Outcome.UNKNOWN, type(error.last_error).__name__
        except RuntimeError as error:  # the SDK's word for nodes that are all resting
            return Outcome.LATER, str(error)
        except Exception as error:  # an SDK's bug, or a channel's: sent or not, nobody knows
            return Outcome.UNKNOWN, type(error).__name__
        return Outcome.TAKEN, "OK"

    def placed(self, signed: Signed) -> Placed | None:
        """Where it was put, or None if the network does not say in time. Refuses with `unavailable`
        (definite) a message that reached consensus and failed there: it is in no topic.
        """
        query = TransactionGetReceiptQuery().set_transaction_id(signed.transaction.transaction_id)
        query.set_validate_status(True).set_grpc_deadline(ATTEMPT_SECONDS)
        try:
            receipt = query.execute(self._client(), timeout=RECEIPT_SECONDS)
        except ReceiptStatusError as error:
            if error.status in (ResponseCode.RECEIPT_NOT_FOUND, ResponseCode.UNKNOWN):
                return None
            raise Unavailable(
                f"the network refused the claim's message: {error.status.name}", definite=True
            ) from error
        except Exception:  # whatever else the SDK says, it does not say that the message is nowhere
            return None
        return Placed(receipt.topic_sequence_number, bytes(receipt.topic_running_hash))

    def create_topic(self) -> str:
        """Make a topic that only the submit key can write to. It has no name and no memo: both are public."""
        transaction = TopicCreateTransaction(submit_key=self._submit_key.public_key())
        try:
            receipt = transaction.execute(self._client(), validate_status=True)
        except Exception as error:
            raise Unavailable(
                f"the network made no topic that it told us of ({type(error).__name__})"
            ) from error
        return str(receipt.topic_id)

    def close(self) -> None:
        """Let go of the nodes."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _client(self) -> Any:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> Any:
        try:
            if isinstance(self._name, str):
                client = getattr(Client, f"for_{self._name}")()
            else:
                nodes = {place: AccountId.from_string(account) for place, account in self._name.items()}
                client = Client.for_network(nodes)
            client.logger.set_level(LogLevel.DISABLED)  # what matters of it is in our own log
            return client.set_operator(AccountId.from_string(self.account), self._key)
        except Exception as error:
            raise Unavailable(f"no network is to be had ({type(error).__name__})", definite=True) from error


def named_or_nodes(text: str) -> str | dict[str, str]:
    """A setting's network: a public one's name, or `account=host:port` with commas between."""
    if text in _NAMED:
        return text
    pairs = [pair.strip().partition("=") for pair in text.split(",")]
    nodes = {place: account for account, _, place in pairs if account and place}
    if len(nodes) != len(pairs):
        raise InvalidRequest(
            f"TESSERA_HEDERA_NETWORK: {', '.join(_NAMED)}, or nodes as 0.0.3=host:port with commas between"
        )
    return nodes


def key_in(path: str) -> str:
    """The private key in a file."""
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path}: the private key cannot be read ({type(error).__name__})") from error


def _outcome(error: Any) -> Outcome:
    if error.status == ResponseCode.DUPLICATE_TRANSACTION:
        return Outcome.TAKEN
    return Outcome.LATER if error.status in _LATER else Outcome.REFUSED


def _private_key(text: str) -> Any:
    """A private key: DER in hex, 32 bytes in hex for Ed25519, or those after `ecdsa:`. Which of the two
    curves 32 bytes are for cannot be told from them.
    """
    kind, _, digits = text.rpartition(":")
    try:
        if kind == "ecdsa":
            return PrivateKey.from_string_ecdsa(digits)
        return (PrivateKey.from_string_ed25519 if len(digits) == 64 else PrivateKey.from_string_der)(digits)
    except Exception:  # which repeats the key
        raise InvalidRequest("no private key: DER in hex, or 64 hex digits (ecdsa: before ECDSA's)") from None
