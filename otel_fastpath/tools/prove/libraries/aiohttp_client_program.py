"""Calls of aiohttp's client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor

from otel_fastpath.tools.prove.libraries.calls_drawn import DrawnCall, call_servers

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


# One of them returns what cannot be parsed.
_OPTIONS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"url_filter": lambda url: str(url.with_query(None))},
    {"url_filter": lambda url: f"http://[odd{url.path}"},
)


class _OddResponse(aiohttp.ClientResponse):
    """Says that its status is no number."""

    status = property(lambda _self: "odd", lambda _self, _status: None)


async def _ask(call: DrawnCall, kind: type[aiohttp.ClientResponse]) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession(response_class=kind) as client,
        client.request(call.method, call.url, headers=call.headers, data=call.body) as answer,
    ):
        return answer.status, await answer.read()


def run_aiohttp_client(run: ProgramRun) -> None:
    """Calls, each of a session of its own."""
    options = _OPTIONS[run.seed % len(_OPTIONS)]

    def ask(call: DrawnCall) -> tuple[int, bytes]:
        kind = run.draw.choice((aiohttp.ClientResponse, aiohttp.ClientResponse, _OddResponse))
        return asyncio.run(_ask(call, kind))

    call_servers(run, AioHttpClientInstrumentor(), ask, **options)


PROGRAM: Final = run_aiohttp_client
