"""An application of aiohttp.web under load."""

from __future__ import annotations

import asyncio
import os

from aiohttp import web
from opentelemetry import trace
from opentelemetry.instrumentation.aiohttp_server import AioHttpServerInstrumentor
from watched import BLOCK, NUMBER, TELEMETRY, inner, telemetry, tell

os.environ["OTEL_PYTHON_AIOHTTP_SERVER_EXCLUDED_URLS"] = TELEMETRY
AioHttpServerInstrumentor().instrument()


async def _handle(request):
    path = request.path
    if path == TELEMETRY:
        return web.Response(body=telemetry())
    number = request.headers[NUMBER]
    tell(trace.get_current_span(), number)
    with inner(number):
        await asyncio.sleep(0.001)
    if path == "/boom":
        raise ValueError(number)
    if path == "/ok":
        return web.Response(text=number)
    response = web.StreamResponse()
    await response.prepare(request)
    if path == "/gone":
        for _ in range(4000):
            await response.write(BLOCK)
            await asyncio.sleep(0)
    await response.write(number.encode())
    return response


def application(_arguments=None):
    """The application."""
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", _handle)
    return app
