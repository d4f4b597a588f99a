"""Calls of aiohttp's client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import aiohttp
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor

from otel_fastpath.tools.prove.libraries.calls_drawn import DrawnCall, call_servers

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


async def _ask(call: DrawnCall) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as client,
        client.request(call.method, call.url, headers=call.headers, data=call.body) as answer,
    ):
        return answer.status, await answer.read()


def run_aiohttp_client(run: ProgramRun) -> None:
    """Calls, each of a session of its own."""
    call_servers(run, AioHttpClientInstrumentor(), lambda call: asyncio.run(_ask(call)))


PROGRAM: Final = run_aiohttp_client
