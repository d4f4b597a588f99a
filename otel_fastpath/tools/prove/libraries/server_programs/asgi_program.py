"""Applications of ASGI, with the middleware of `opentelemetry-instrumentation-asgi`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.util.http import ExcludeList

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ODD_HOSTS,
    PATHS,
    Request,
    as_scope,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.tools.prove.program import ProgramRun

HOOKS: Final = ("server_request_hook", "client_request_hook", "client_response_hook")
# Of a middleware of its own each: stock records the size of an earlier answer for one without: docs/differences.md.
_ALONE: Final = ("/boom", "/status/odd", "/length", "")
_PATHS: Final = (*PATHS, *_ALONE)
# What the client of a websocket sends, and that of a request.
_SPOKEN: Final[tuple[dict[str, Any], ...]] = (
    {"type": "websocket.connect"},
    {"type": "websocket.receive", "text": "a"},
    {"type": "websocket.disconnect", "code": 1000},
)
_SENT: Final[tuple[dict[str, Any], ...]] = ({"type": "http.request", "body": b"abc"},)


_EXCLUDED: Final[tuple[Any, ...]] = (None, ExcludeList(["items/8"]), None, "items/8, health")
_LESS_SPANS: Final[tuple[Any, ...]] = (None, None, None, ["send"], ["receive", "send"])


async def _ask(app: Any, scope: dict[str, Any], given: Sequence[dict[str, Any]]) -> tuple[Any, ...]:
    sent: list[Any] = []
    waiting = list(given)

    async def receive() -> dict[str, Any]:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append((message["type"], message.get("status"), len(message.get("headers", ()))))

    await app(scope, receive, send)
    return tuple(sent)


def call_asgi(app: Any, request: Request, given: Sequence[dict[str, Any]] = _SENT) -> tuple[Any, ...]:
    """What an application of ASGI sends."""
    return asyncio.run(_ask(app, as_scope(request), given))


def in_websocket(app: Any, path: str, given: Sequence[dict[str, Any]] = _SPOKEN) -> tuple[Any, ...]:
    """What an application of ASGI sends through a websocket."""
    scope = {**as_scope(Request("GET", path, "", (("host", "shop"),), "ws", "1.1", has_client=True))}
    del scope["method"]
    return asyncio.run(_ask(app, {**scope, "type": "websocket"}, given))


async def _serve(scope: Any, receive: Any, send: Any) -> None:
    message = await receive()
    if scope["type"] != "http":
        await send({"type": "websocket.accept"})
        while message["type"] != "websocket.disconnect":
            message = await receive()
            await send({"type": "websocket.send", "text": "yes"})
        await send({"type": "websocket.close", "code": 1000})
        return
    status = status_of(scope["path"])
    if scope["path"] == "/items/4":
        await _send_with_trailers(send, status)
        return
    length = b"many" if scope["path"] == "/length" else b"4"
    headers = [(b"content-length", length), (b"x-answer", b"yes \xff"), (b"content-type", b"text/plain")]
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


def run_asgi(run: ProgramRun) -> None:
    """A middleware around an application."""
    telemetry = run.telemetry()

    def make() -> Any:
        return OpenTelemetryMiddleware(
            _serve,
            **providers(telemetry, "tracer", "meter"),
            **hooks(run, HOOKS, may_fail=True),
            excluded_urls=_EXCLUDED[run.seed % len(_EXCLUDED)],
            exclude_spans=_LESS_SPANS[run.seed % len(_LESS_SPANS)],
        )

    with in_mode(run), setting_up(telemetry):
        app = make()
    with in_mode(run):
        run.attempt(in_websocket, app, "/items/3")
    serve(
        run,
        telemetry,
        lambda request: call_asgi(make() if request.path in _ALONE else app, request),
        _PATHS,
        ODD_HOSTS,
    )


PROGRAM: Final = run_asgi
