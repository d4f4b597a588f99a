"""An ASGI application under load."""

from __future__ import annotations

import asyncio

from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from watched import BLOCK, NUMBER, TELEMETRY, inner, telemetry, tell

_NUMBER = NUMBER.encode()


def _number(scope):
    return dict(scope["headers"])[_NUMBER].decode()


async def _plain(scope, receive, send):
    path = scope["path"]
    number = _number(scope)
    await receive()
    with inner(number):
        await asyncio.sleep(0.001)
    if path == "/boom":
        raise ValueError(number)
    body = number.encode()
    headers = [(b"content-type", b"text/plain")]
    if path == "/ok":
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if path == "/gone":
        while (await receive())["type"] != "http.disconnect":
            await send({"type": "http.response.body", "body": BLOCK, "more_body": True})
        return
    if path == "/stream":
        for _ in range(3):
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": body})


_instrumented = OpenTelemetryMiddleware(_plain, server_request_hook=lambda span, scope: tell(span, _number(scope)))


async def asgi(scope, receive, send):
    """The application."""
    if scope["type"] == "lifespan":
        return
    if scope["path"] == TELEMETRY:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": telemetry()})
    else:
        await _instrumented(scope, receive, send)
