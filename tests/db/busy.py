"""Whether a connection of asyncpg is waiting for its server."""

from __future__ import annotations

import asyncio


async def busy(connection):
    """Wait until a query is on its way."""
    while not connection._stmt_exclusive_section._acquired:  # noqa: ASYNC110  # asyncpg has no event for it
        await asyncio.sleep(0)
