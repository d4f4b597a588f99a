"""The application of aiohttp.web."""

from __future__ import annotations

import asyncio
import os
import time

from aiohttp import web
from opentelemetry.instrumentation.aiohttp_server import AioHttpServerInstrumentor
from served import BLOCK, CHUNKS, TELEMETRY, telemetry

os.environ["OTEL_PYTHON_AIOHTTP_SERVER_EXCLUDED_URLS"] = TELEMETRY
AioHttpServerInstrumentor().instrument()


async def _handle(request):
    path = request.path
    if path == TELEMETRY:
        return web.Response(body=telemetry())
    if path == "/ok":
        return web.Response(body=b"fine")
    if path == "/echo":
        return web.Response(status=201, body=await request.read())
    if path == "/boom":
        raise ValueError("before the response")
    if path not in {"/late", "/stream", "/gone"}:
        raise web.HTTPNotFound
    response = web.StreamResponse()
    await response.prepare(request)
    for chunk in CHUNKS:
        await response.write(chunk)
    if path == "/late":
        raise KeyError("after its start")
    if path == "/gone":
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            await response.write(BLOCK)
            await asyncio.sleep(0.001)
    return response


def aiohttp_application(_arguments=None):
    """The application of aiohttp.web."""
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", _handle)
    return app
