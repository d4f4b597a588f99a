"""The ASGI application: stock's middleware around plain ASGI, and FastAPI below `/api`."""

from __future__ import annotations

from fastapi import FastAPI, WebSocket
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from served import CHUNKS, TELEMETRY, telemetry


async def _respond(send, status, body, *, length=True):
    headers = [(b"content-type", b"text/plain")]
    if length:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _start(send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": CHUNKS[0], "more_body": True})


async def _talk(receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] != "websocket.disconnect":
        await send({"type": "websocket.send", "text": message["text"]})


async def _plain(scope, receive, send):
    path = scope["path"]
    if path == "/ok":
        await _respond(send, 200, b"" if scope["method"] == "HEAD" else b"fine")
    elif path == "/echo":
        body, message = b"", {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            body += message["body"]
        await _respond(send, 201, body)
    elif path == "/boom":
        raise ValueError("before the response")
    elif path == "/late":
        await _start(send)
        raise KeyError("after its start")
    elif path == "/stream":
        await _start(send)
        for chunk in CHUNKS:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    elif path == "/gone":
        await _start(send)
        while (await receive())["type"] != "http.disconnect":
            pass
    else:
        await _respond(send, 404, b"nothing")


async def _without_framework(scope, receive, send):
    await (_talk(receive, send) if scope["type"] == "websocket" else _plain(scope, receive, send))


def _fastapi():
    app = FastAPI(telemetry={"tracing": False, "metrics": False, "logs": False})

    @app.get("/api/items/{item_id}")
    async def read(item_id: int):
        return {"item_id": item_id}

    @app.get("/api/boom")
    def boom():
        raise ValueError("in the endpoint")

    @app.websocket("/api/talk/{name}")
    async def talk(websocket: WebSocket, name: str):
        if name == "nobody":
            await websocket.close()
            return
        await websocket.accept()
        # Ends with WebSocketDisconnect.
        async for text in websocket.iter_text():
            await websocket.send_text(text)

    FastAPIInstrumentor.instrument_app(app)
    return app


_instrumented = OpenTelemetryMiddleware(_without_framework)
_framework = _fastapi()


async def asgi(scope, receive, send):
    """The ASGI application."""
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return
    if scope["path"] == TELEMETRY:
        await _respond(send, 200, telemetry())
    elif scope["path"].startswith("/api"):
        await _framework(scope, receive, send)
    else:
        await _instrumented(scope, receive, send)
