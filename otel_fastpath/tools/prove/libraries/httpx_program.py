"""Calls of httpx, and asynchronous ones."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import httpx
from opentelemetry.instrumentation.httpx import (
    AsyncOpenTelemetryTransport,
    HTTPXClientInstrumentor,
    SyncOpenTelemetryTransport,
)

from otel_fastpath.tools.prove.libraries.calls_drawn import HOOKS, DrawnCall, call_servers
from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers

if TYPE_CHECKING:
    import random

    from otel_fastpath.tools.prove.program import ProgramRun


# As the transports of older releases take and return them; a tuple can only be excluded.
_URLS: Final[tuple[Any, ...]] = (
    httpx.URL("http://shop:8000/items/3?sig=secret"),
    httpx.URL("https://ann:pass@shop/items/9"),
    (b"http", b"shop", 8000, b"/items/9"),
    (b"http", b"shop", None, b"/items/9"),
    (b"http", b"shop", None, b"/items/3"),
)
_HEADERS: Final[tuple[Any, ...]] = (
    None,
    {"X-User": "ann", "X-Secret": "hidden"},
    {"X-User": ["ann", "bob"], "Content-Length": "3"},
    [(b"X-User", b"Zo\xeb"), (b"x-user", b"bob")],
    httpx.Headers({"x-user": "ann, bob"}),
)
_STATUSES: Final = (200, 404, 503, 200.0, 0, -1)
_CALLS: Final = 6


class _Transport:
    """Answers in the way of older releases.

    Args:
        draw: What the answers are drawn from.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.seen: tuple[Any, ...] = ()

    def handle_request(self, *args: Any, **kwargs: Any) -> Any:
        """Answer."""
        self.seen = tuple(type(each).__name__ for each in (*args, *kwargs.values()))
        extensions = self._draw.choice(({}, {"http_version": b"HTTP/2"}))
        return self._draw.choice(_STATUSES), self._draw.choice(_HEADERS), None, extensions

    async def handle_async_request(self, *args: Any, **kwargs: Any) -> Any:
        """Answer."""
        return self.handle_request(*args, **kwargs)


def _ask_transport(draw: random.Random, inner: _Transport, call: Any) -> tuple[Any, ...]:
    more: tuple[Any, ...] = (draw.choice(_HEADERS), httpx.ByteStream(b""), {})[: draw.randrange(4)]
    keyed: dict[str, Any] = {} if more else {"headers": draw.choice(_HEADERS), "stream": None, "extensions": {}}
    answer = call(draw.choice((b"GET", b"POST", b"ODD")), draw.choice(_URLS), *more, **keyed)
    if asyncio.iscoroutine(answer):
        answer = asyncio.run(answer)
    return (answer[0], *inner.seen)


async def _ask(call: DrawnCall) -> tuple[int, bytes]:
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.request(call.method, call.url, headers=call.headers, content=call.body)
        return answer.status_code, answer.content


def run_httpx(run: ProgramRun) -> None:
    """Calls of one client, or of asynchronous ones, and of a transport."""
    is_async = run.seed % 4 > 1
    names = [f"async_{name}" for name in HOOKS] if is_async else HOOKS
    inner, telemetry = _Transport(run.draw), run.telemetry()
    with in_mode(run):
        given = providers(telemetry, "tracer", "meter") | dict(zip(HOOKS, hooks(run, names).values(), strict=False))
        kind: Any = AsyncOpenTelemetryTransport if is_async else SyncOpenTelemetryTransport
        transport = kind(inner, **given)
    handle = transport.handle_async_request if is_async else transport.handle_request
    with httpx.Client(trust_env=False) as client:

        def ask(call: DrawnCall) -> tuple[int, bytes]:
            answer = client.request(call.method, call.url, headers=call.headers, content=call.body)
            return answer.status_code, answer.content

        call_servers(
            run,
            HTTPXClientInstrumentor(),
            (lambda call: asyncio.run(_ask(call))) if is_async else ask,
            names,
            is_difficult=False,
            also=[lambda: _ask_transport(run.draw, inner, handle)] * _CALLS,
        )


PROGRAM: Final = run_httpx
