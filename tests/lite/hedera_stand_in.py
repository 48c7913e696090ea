"""A network of two consensus nodes and one mirror node on the loopback, that Hedera's own SDK talks to.

It keeps what a topic promises: one order, numbers from 1, consensus times that rise, running hashes; it
checks signatures, submit keys, fees, valid times and repeated transactions. And it fails when told.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services import (
    consensus_service_pb2_grpc,
    crypto_service_pb2_grpc,
    response_code_pb2,
    response_pb2,
    transaction_contents_pb2,
    transaction_pb2,
    transaction_receipt_pb2,
    transaction_response_pb2,
)

from tessera.lite.running_hash import GENESIS, entity, running_hash, timestamp

ACCOUNT = "0.0.1002"
NODES = ("0.0.3", "0.0.4")
PRICE_TINYBARS = 1_000_000  # of a message
FIRST_TOPIC = 5_001


def code(name: str) -> int:
    """The number of a response."""
    return response_code_pb2.ResponseCodeEnum.Value(name)


@dataclass
class Topic:
    """A topic: who may write, and what was written."""

    submit_key: bytes
    rows: list[dict[str, Any]] = field(default_factory=list)
    running_hash: bytes = GENESIS


@dataclass
class Network:
    """What the nodes know, and how they misbehave."""

    key: PrivateKey = field(default_factory=PrivateKey.generate_ed25519)
    submit_key: PrivateKey = field(default_factory=PrivateKey.generate_ed25519)
    topics: dict[str, Topic] = field(default_factory=dict)
    receipts: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)  # one of each next sending
    submits: int = 0
    mute: bool = False  # no receipts
    shown: int = 1 << 60  # up to which number the mirror shows rows
    mirror_status: int = 200
    stuck: bool = False  # a mirror that gives its first rows whatever is asked
    nodes: dict[str, str] = field(default_factory=dict)  # accounts by address
    mirror_url: str = ""
    lock: Any = field(default_factory=threading.RLock)
    last_ns: int = 0

    def add_topic(self) -> str:
        """A topic that takes what the submit key has signed."""
        topic_id = f"0.0.{FIRST_TOPIC + len(self.topics)}"
        self.topics[topic_id] = Topic(self.submit_key.public_key().to_bytes_raw())
        return topic_id

    def rows(self, topic_id: str) -> list[dict[str, Any]]:
        """What stands in a topic."""
        return self.topics[topic_id].rows

    def put(self, topic_id: str, message: bytes, payer: str = ACCOUNT, chunk: Any = None) -> Any:
        """Order a message."""
        topic = self.topics[topic_id]
        self.last_ns = max(time.time_ns(), self.last_ns + 1)
        number = len(topic.rows) + 1
        topic.running_hash = running_hash(
            topic.running_hash, entity(payer), entity(topic_id), self.last_ns, number, message
        )
        topic.rows.append({
            "chunk_info": chunk, "consensus_timestamp": timestamp(self.last_ns),
            "message": base64.b64encode(message).decode(), "payer_account_id": payer,
            "running_hash": base64.b64encode(topic.running_hash).decode(), "running_hash_version": 3,
            "sequence_number": number, "topic_id": topic_id,
        })  # fmt: skip
        return transaction_receipt_pb2.TransactionReceipt(
            status=code("SUCCESS"), topicSequenceNumber=number, topicRunningHash=topic.running_hash,
            topicRunningHashVersion=3,
        )  # fmt: skip

    def take(self, request: Any) -> int:
        """A transaction, as a node takes it: the answer of its check before consensus."""
        signed = transaction_contents_pb2.SignedTransaction.FromString(request.signedTransactionBytes)
        body = transaction_pb2.TransactionBody.FromString(signed.bodyBytes)
        start = body.transactionID.transactionValidStart
        name = f"{_entity(body.transactionID.accountID, 'accountNum')}@{start.seconds}.{start.nanos:09d}"
        with self.lock:
            signers = set(_signers(signed))
            if name.split("@")[0] != ACCOUNT:
                return code("PAYER_ACCOUNT_NOT_FOUND")
            if self.key.public_key().to_bytes_raw() not in signers:
                return code("INVALID_SIGNATURE")
            if body.transactionFee < PRICE_TINYBARS:
                return code("INSUFFICIENT_TX_FEE")
            if time.time() > start.seconds + body.transactionValidDuration.seconds:
                return code("TRANSACTION_EXPIRED")
            if name in self.receipts:
                return code("DUPLICATE_TRANSACTION")
            self.receipts[name] = self._consensus(body, signers)
            return code("OK")

    def _consensus(self, body: Any, signers: set[bytes]) -> Any:
        receipt = transaction_receipt_pb2.TransactionReceipt
        if body.HasField("consensusCreateTopic"):
            topic_id = f"0.0.{FIRST_TOPIC + len(self.topics)}"
            self.topics[topic_id] = Topic(body.consensusCreateTopic.submitKey.ed25519)
            made = receipt(status=code("SUCCESS"))
            made.topicID.topicNum = int(topic_id.rpartition(".")[2])
            return made
        asked = body.consensusSubmitMessage
        topic_id = _entity(asked.topicID, "topicNum")
        if topic_id not in self.topics:
            return receipt(status=code("INVALID_TOPIC_ID"))
        if self.topics[topic_id].submit_key not in signers:
            return receipt(status=code("INVALID_SIGNATURE"))
        return self.put(topic_id, asked.message)


def _entity(thing: Any, number: str) -> str:
    return f"{thing.shardNum}.{thing.realmNum}.{getattr(thing, number)}"


def _signers(signed: Any) -> Iterator[bytes]:
    """The keys whose signatures of a transaction are good."""
    for pair in signed.sigMap.sigPair:
        try:
            Ed25519PublicKey.from_public_bytes(pair.pubKeyPrefix).verify(pair.ed25519, signed.bodyBytes)
        except InvalidSignature:
            continue
        yield pair.pubKeyPrefix


class Consensus(consensus_service_pb2_grpc.ConsensusServiceServicer):
    """The node's side of a topic."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def createTopic(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """Make a topic."""
        return transaction_response_pb2.TransactionResponse(
            nodeTransactionPrecheckCode=self._network.take(request)
        )

    def submitMessage(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """Take a message, or fail as told: before it is taken, or after."""
        network = self._network
        with network.lock:
            network.submits += 1
            fault = network.faults.pop(0) if network.faults else ""
        if fault == "lost before":
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        if fault == "late":
            threading.Timer(0.2, network.take, (request,)).start()
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        if fault and fault != "lost after":
            return transaction_response_pb2.TransactionResponse(nodeTransactionPrecheckCode=code(fault))
        taken = network.take(request)
        if fault == "lost after":
            context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
        return transaction_response_pb2.TransactionResponse(nodeTransactionPrecheckCode=taken)


class Crypto(crypto_service_pb2_grpc.CryptoServiceServicer):
    """The node's side of receipts."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def getTransactionReceipts(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        """A receipt, if there is one."""
        named = request.transactionGetReceipt.transactionID
        start = named.transactionValidStart
        name = f"{_entity(named.accountID, 'accountNum')}@{start.seconds}.{start.nanos:09d}"
        answer = response_pb2.Response()
        found = answer.transactionGetReceipt
        found.header.nodeTransactionPrecheckCode = code("OK")
        receipt = None if self._network.mute else self._network.receipts.get(name)
        if receipt is None:
            found.header.nodeTransactionPrecheckCode = code(
                "INVALID_TRANSACTION_ID" if self._network.mute else "OK"
            )
            found.receipt.status = code("RECEIPT_NOT_FOUND")
        else:
            found.receipt.CopyFrom(receipt)
        return answer


class MirrorPages(BaseHTTPRequestHandler):
    """The mirror's REST interface, of which a page of messages is all that is asked."""

    network: Network
    protocol_version = "HTTP/1.1"
    COMPARED = {"gt": int.__gt__, "gte": int.__ge__, "lt": int.__lt__, "lte": int.__le__, "eq": int.__eq__}

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are silent."""

    def do_GET(self) -> None:
        """Answer a page."""
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        *_, topics, topic_id, messages = address.path.split("/")
        network = self.network
        if network.mirror_status != 200:
            self._answer(network.mirror_status, {})
        elif (topics, messages) != ("topics", "messages") or topic_id not in network.topics:
            self._answer(404, {"_status": {"messages": [{"message": "Not found"}]}})
        else:
            with network.lock:
                rows = [row for row in network.rows(topic_id) if row["sequence_number"] <= network.shown]
            for name, value in (("sequencenumber", _number), ("timestamp", _nanoseconds)):
                for asked in query.get(name, ()):
                    how, _, given = asked.rpartition(":")
                    rows = [row for row in rows if self.COMPARED[how or "eq"](value(row), _as_number(given))]
            if network.stuck:
                rows = network.rows(topic_id)
            page = rows[: min(int(query.get("limit", ["25"])[0]), 100)]
            self._answer(200, {"links": {"next": None}, "messages": page})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _number(row: dict[str, Any]) -> int:
    return int(row["sequence_number"])


def _nanoseconds(row: dict[str, Any]) -> int:
    return _as_number(row["consensus_timestamp"])


def _as_number(text: str) -> int:
    """A sequence number, or a time in nanoseconds."""
    return int(text.replace(".", "")) if "." in text else int(text)


@contextmanager
def running() -> Iterator[Network]:
    """The network, up and reachable."""
    network = Network()
    node = grpc.server(ThreadPoolExecutor(8))
    consensus_service_pb2_grpc.add_ConsensusServiceServicer_to_server(Consensus(network), node)
    crypto_service_pb2_grpc.add_CryptoServiceServicer_to_server(Crypto(network), node)
    network.nodes = {f"127.0.0.1:{node.add_insecure_port('127.0.0.1:0')}": account for account in NODES}
    pages = type("Pages", (MirrorPages,), {"network": network})
    mirror = ThreadingHTTPServer(("127.0.0.1", 0), pages)
    mirror.daemon_threads = True
    network.mirror_url = f"http://127.0.0.1:{mirror.server_address[1]}"
    serving = threading.Thread(target=mirror.serve_forever, args=(0.02,))
    node.start()
    serving.start()
    try:
        yield network
    finally:
        node.stop(0).wait()
        mirror.shutdown()
        mirror.server_close()
        serving.join()
