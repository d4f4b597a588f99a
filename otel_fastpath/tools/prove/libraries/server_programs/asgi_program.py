"""Applications of ASGI, with the middleware of `opentelemetry-instrumentation-asgi`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.util.http import ExcludeList

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    PATHS,
    Request,
    as_scope,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

HOOKS: Final = ("server_request_hook", "client_request_hook", "client_response_hook")
# Stock records the size of an earlier answer for one that was not given: docs/differences.md.
_PATHS: Final = tuple(path for path in PATHS if path != "/boom")


_LESS_SPANS: Final[tuple[Any, ...]] = (None, None, None, ["send"], ["receive", "send"])


async def _ask(app: Any, scope: dict[str, Any]) -> tuple[Any, ...]:
    sent: list[Any] = []
    given: list[dict[str, Any]] = [{"type": "http.request", "body": b"abc"}]

    async def receive() -> dict[str, Any]:
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append((message["type"], message.get("status"), len(message.get("headers", ()))))

    await app(scope, receive, send)
    return tuple(sent)


def call_asgi(app: Any, request: Request) -> tuple[Any, ...]:
    """What an application of ASGI sends."""
    return asyncio.run(_ask(app, as_scope(request)))


async def _serve(scope: Any, receive: Any, send: Any) -> None:
    message = await receive()
    if scope["type"] != "http":
        await send({"type": "websocket.accept"})
        while message["type"] != "http.disconnect":
            message = await receive()
            await send({"type": "websocket.send", "text": "yes"})
        await send({"type": "websocket.close", "code": 1000})
        return
    status = status_of(scope["path"])
    if scope["path"] == "/items/4":
        await _send_with_trailers(send, status)
        return
    headers = [(b"content-length", b"4"), (b"x-answer", b"yes"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"it", "more_body": True})
    await send({"type": "http.response.body", "body": b"em"})


async def _send_with_trailers(send: Any, status: int) -> None:
    headers = [(b"content-length", b"2"), (b"trailer", b"x-end")]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": True})
    await send({"type": "http.response.body", "body": b"ok"})
    for is_last in (False, True):
        trailers = [(b"x-end", b"yes")]
        await send({"type": "http.response.trailers", "headers": trailers, "more_trailers": not is_last})


def _in_websocket(app: Any) -> tuple[Any, ...]:
    scope = {**as_scope(Request("GET", "/items/3", "", (("host", "shop"),), "ws", "1.1", has_client=True))}
    del scope["method"]
    return asyncio.run(_ask(app, {**scope, "type": "websocket"}))


def run_asgi(run: ProgramRun) -> None:
    """A middleware around an application."""
    telemetry = run.telemetry()
    with in_mode(run):
        app = OpenTelemetryMiddleware(
            _serve,
            **providers(telemetry, "tracer", "meter"),
            **hooks(run, HOOKS),
            excluded_urls=ExcludeList(["items/8"]) if run.seed % 4 == 1 else None,
            exclude_spans=_LESS_SPANS[run.seed % len(_LESS_SPANS)],
        )
        run.attempt(_in_websocket, app)
    serve(run, telemetry, lambda request: call_asgi(app, request), _PATHS)


PROGRAM: Final = run_asgi
