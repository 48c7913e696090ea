"""The seam to whoever decides that an agent should be woken: one call, one receipt. (Adapter contract.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from tessera.wake.client import Client
from tessera.wake.errors import AmbiguousEndpoint, Unavailable

CLIENT_ID = "coordination-engine"


class WakeRequest(Struct, frozen=True):
    """Wake whoever works on a repository. The lease is the idempotency key, the trigger the correlation."""

    target_repo: str
    prompt: str
    lease_id: str
    trigger_id: str
    endpoint_id: str | None = None
    metadata: dict[str, Any] = {}


class WakeReceipt(Struct, frozen=True):
    """The wake is stored: endpoint and message are its durable identity. No proof that anybody has read
    it.
    """

    message_id: str
    endpoint_id: str
    state: str
    deduplicated: bool
    rebound: bool


class CoordinationEngineAdapter:
    """Wakes through the service behind a socket, by default the one of this user."""

    def __init__(self, socket: str | Path | None = None) -> None:
        self._path = socket

    def wake(self, request: WakeRequest) -> WakeReceipt:
        """Admit a wake for exactly one live endpoint of the repository. Refuses with `Unavailable` when
        none is live and with `AmbiguousEndpoint` when several are and none is named. Repeating the same
        request gives the same message.
        """
        client = Client(self._path)
        endpoint_id = request.endpoint_id or self._resolve(client, request.target_repo)
        answer = client.call(
            "send", client_id=CLIENT_ID, idempotency_key=request.lease_id, correlation_id=request.trigger_id,
            sender_repo=CLIENT_ID, target_repo=request.target_repo, endpoint_id=endpoint_id,
            provenance="coordination_engine", body=request.prompt,
            metadata={**request.metadata, "lease_id": request.lease_id, "trigger_id": request.trigger_id},
        )  # fmt: skip
        return WakeReceipt(
            message_id=answer["message_id"], endpoint_id=answer["endpoint_id"], state=answer["state"],
            deduplicated=answer["deduplicated"], rebound=answer["rebound"],
        )  # fmt: skip

    def _resolve(self, client: Client, repo: str) -> str:
        live = [one["endpoint_id"] for one in client.call("endpoints", repo=repo, live=True)["endpoints"]]
        if not live:
            raise Unavailable(reason="no_endpoint")
        if len(live) > 1:
            raise AmbiguousEndpoint(endpoints=live)
        only: str = live[0]
        return only
