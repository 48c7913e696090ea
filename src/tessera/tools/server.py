"""The tools on the official SDK (extra `mcp`): one server, whoever carries the verbs out."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Listed

from tessera.errors import TesseraError
from tessera.names import VERSION
from tessera.tools import texts
from tessera.tools.catalog import Tool, catalog, problem

Context = ServerRequestContext[Any, Any]
Call = Callable[[Tool, dict[str, Any], Any], Awaitable[Any]]  # with the HTTP request, if it came by one

LEVELS_MAX: Final = 150  # of structured content: parsers of JSON give up from 200 on, all in all
_LIST_MS: Final = 3_600_000  # for how long a client may keep the list of tools: it changes with the version


def server(wide: bool, call: Call) -> Server[Any]:
    """The server. `call` carries a tool out and gives the verb's answer, or raises its refusal."""
    tools = catalog(wide)
    listed = ListToolsResult(tools=[_listed(tool) for tool in tools.values()])

    async def on_list(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return listed

    async def on_call(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(code=INVALID_PARAMS, message="there is no such tool: tools/list names all")
        try:
            text = tool.answer(await call(tool, params.arguments or {}, context.request)).decode()
        except TesseraError as refusal:
            return _result(problem(refusal).decode(), is_error=True)
        return _result(text, structured_content=_structured(text))

    return Server(
        "tessera", version=VERSION, title="Tessera", instructions=texts.INSTRUCTIONS, on_list_tools=on_list,
        on_call_tool=on_call, cache_hints={"tools/list": CacheHint(ttl_ms=_LIST_MS, scope="public")},
        get_tool_input_schema=lambda name: tools[name].takes if name in tools else None,
    )  # fmt: skip


def _structured(text: str) -> Any:
    """The document as a value. The SDK on either side gives up on deep ones: what lies deeper is null here,
    while the text has it all.
    """
    value = json.loads(text)
    return _cut(value, LEVELS_MAX) if text.count("{") + text.count("[") > LEVELS_MAX else value


def _cut(value: Any, levels: int) -> Any:
    if isinstance(value, dict):
        return {name: _cut(item, levels - 1) for name, item in value.items()} if levels else None
    if isinstance(value, list):
        return [_cut(item, levels - 1) for item in value] if levels else None
    return value


def _result(text: str, **more: Any) -> CallToolResult:
    """A result whose text is the document itself. A problem is no structured content: that is promised to fit
    the tool's output schema, and some clients hold a server to it in errors too.
    """
    return CallToolResult(content=[TextContent(type="text", text=text)], **more)


def _listed(tool: Tool) -> Listed:
    hints = ToolAnnotations(
        read_only_hint=tool.reads, destructive_hint=tool.ending, idempotent_hint=tool.repeatable,
        open_world_hint=False,
    )  # fmt: skip
    return Listed(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.takes,
        output_schema=tool.gives, annotations=hints,
    )  # fmt: skip
