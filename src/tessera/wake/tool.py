"""`tessera wake mcp`: one tool over stdio, with which an agent acknowledges its wakes from outside its
sandbox.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tessera.names import VERSION
from tessera.wake.client import Client
from tessera.wake.errors import WakeError


def server(client: Client) -> Any:
    """The server, on the official SDK (extra `mcp`)."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    made = MCPServer(
        "tessera-wake", version=VERSION, instructions="Acknowledge each [Tessera wake m_…] once."
    )

    def wake_ack(
        message_id: Annotated[
            str, Field(pattern=r"^m_[0-9a-f]{16}$", description="The id in the wake's head.")
        ],
        note: Annotated[str, Field(max_length=512, description="A word for the sender.")] = "",
    ) -> dict[str, Any]:
        """Acknowledge a wake: you have read it. Says whether it was acknowledged before."""
        try:
            answer = client.call("ack", message_id=message_id, source="mcp", note=note or None)
        except WakeError as refusal:
            raise ToolError(f"{refusal.code}: {refusal.detail}") from refusal
        return {"message_id": message_id, "state": answer["state"], "already": answer["already"]}

    made.add_tool(wake_ack)
    return made
