"""The tools over stdin and stdout, on a store's file or as a bridge to a service (extra `mcp`)."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.stdio import stdio_server

import tessera
from tessera.errors import TesseraError
from tessera.store_urls import is_service
from tessera.tools.catalog import Tool
from tessera.tools.server import server

log = logging.getLogger("tessera.mcp")
Carry = Callable[[str, bytes], Awaitable[Any]]  # a verb by its name, and what it is asked


def serve(url: str, key: str | None, wide: bool) -> None:
    """Serve until stdin ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    asyncio.run(_serve(url, key, wide))


async def _serve(url: str, key: str | None, wide: bool) -> None:
    async with _store(url, key) as carry:

        async def call(tool: Tool, arguments: dict[str, Any], _: Any) -> Any:
            document = tool.ask(arguments)[1]
            try:
                return await carry(tool.name, document)
            except TesseraError:
                raise
            except Exception:
                log.exception("a tool failed")
                raise TesseraError from None

        made = server(wide, call)
        async with stdio_server() as (read, write):
            await made.run(read, write, made.create_initialization_options())


@asynccontextmanager
async def _store(url: str, key: str | None) -> AsyncIterator[Carry]:
    """The store, asked without holding up the loop. A call to a service that is cancelled hangs up, so that
    what it might have claimed is given back; one on a file comes to its end first.
    """
    if is_service(url):
        async with tessera.AsyncClient(url, key) as client:
            yield client.door.call
        return
    with tessera.open(url, key=key) as store:

        async def carry(verb: str, document: bytes) -> Any:
            return await asyncio.to_thread(store.door.call, verb, document)

        yield carry
