"""A request of an ASGI application, called without a server, for the budgets.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'ASGI*' --only 'FastAPI*' --only 'Starlette*'

Five headers, `GET /items/3`, answered with JSON in two messages; traces and metrics, with default settings. The bare
callable is the same application without the instrumentation.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

HEADERS = [
    (b"host", b"localhost:8000"),
    (b"user-agent", b"python-httpx/0.28.1"),
    (b"accept", b"*/*"),
    (b"accept-encoding", b"gzip, deflate"),
    (b"connection", b"keep-alive"),
]
BODY = b'{"item_id":3}'
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"13")],
}


def scope(path: str = "/items/3") -> dict[str, Any]:
    """A request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 50000),
        "scheme": "http",
        "method": "GET",
        "root_path": "",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": HEADERS,
        "state": {},
    }


async def _receive() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send(_message: Any) -> None:
    pass


async def _answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send(START)
    await send({"type": "http.response.body", "body": BODY})


APPLICATION = _answer


async def _stream(_scope: Any, _receive: Any, send: Any) -> None:
    await send(START)
    for _ in range(20):
        await send({"type": "http.response.body", "body": b"chunk", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def providers(sampled: bool) -> dict[str, Any]:
    """The keyword arguments of the instrumentations."""
    import bench_span  # noqa: PLC0415  # it imports the SDK
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased  # noqa: PLC0415  # likewise

    provider = bench_span.batching(ParentBased(TraceIdRatioBased(1.0 if sampled else 0.0)))
    return {"tracer_provider": provider, "meter_provider": MeterProvider([InMemoryMetricReader()])}


def _fastapi(routes: int, **keywords: Any) -> Any:
    from fastapi import FastAPI  # noqa: PLC0415  # only where it is measured

    app = FastAPI(**keywords)
    for number in range(routes):
        last = number == routes - 1

        async def read(item_id: int) -> dict[str, int]:
            return {"item_id": item_id}

        app.get("/items/{item_id}" if last else f"/other{number}/{{item_id}}")(read)
    return app


def _starlette() -> Any:
    from starlette.applications import Starlette  # noqa: PLC0415  # only where it is measured
    from starlette.responses import JSONResponse  # noqa: PLC0415  # likewise
    from starlette.routing import Route  # noqa: PLC0415  # likewise

    async def read(request: Any) -> Any:
        return JSONResponse({"item_id": int(request.path_params["item_id"])})

    return Starlette(routes=[Route(path, read) for path in ("/orders/{id}", "/users/{id}", "/items/{item_id}")])


class Given:
    """The applications, each made when it is first asked for.

    Args:
        providers: The keyword arguments of the instrumentations.
    """

    def __init__(self, providers: dict[str, Any]) -> None:
        self._providers = providers
        self.bare = functools.cache(self._bare)
        self.instrumented = functools.cache(self._instrumented)

    def _bare(self, name: str) -> Any:
        return _APPLICATIONS[name]()

    def _instrumented(self, name: str) -> Any:
        if name in _OWN:
            return _fastapi(_OWN[name], telemetry=self._providers)
        app = _APPLICATIONS[name]()
        if name.startswith("FastAPI"):
            from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor  # noqa: PLC0415  # where measured

            FastAPIInstrumentor.instrument_app(app, **self._providers)
        elif name == "Starlette":
            from opentelemetry.instrumentation.starlette import StarletteInstrumentor  # noqa: PLC0415  # likewise

            StarletteInstrumentor.instrument_app(app, **self._providers)
        else:
            from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware  # noqa: PLC0415  # likewise

            excluded = "items" if name == "excluded" else None
            app = OpenTelemetryMiddleware(app, excluded_urls=excluded, **self._providers)
        return app


_APPLICATIONS = {
    "ASGI": lambda: _answer,
    "excluded": lambda: _answer,
    "stream": lambda: _stream,
    "Starlette": _starlette,
    "FastAPI": lambda: _fastapi(3),
    "FastAPI, 200 routes": lambda: _fastapi(200),
}
# FastAPI's own telemetry, with this number of routes.
_OWN = {"own": 3, "own, 200 routes": 200}


def _fastpath(core: str, providers: dict[str, Any]) -> Given:
    from setups import instrument  # noqa: PLC0415  # not for stock

    instrument(core)
    return Given(providers)


def stock() -> Given:
    """The stock instrumentation and SDK."""
    return Given(providers(sampled=True))


def compiled() -> Given:
    """otel-fastpath with the compiled core."""
    return _fastpath("c", providers(sampled=True))


def pure() -> Given:
    """The same with the pure core."""
    return _fastpath("py", providers(sampled=True))


def stock_dropped() -> Given:
    """The stock instrumentation and SDK, nothing is sampled."""
    return Given(providers(sampled=False))


def compiled_dropped() -> Given:
    """otel-fastpath, nothing is sampled."""
    return _fastpath("c", providers(sampled=False))


def stock_no_sdk() -> Given:
    """The stock instrumentation without an SDK."""
    return Given({})


def compiled_no_sdk() -> Given:
    """otel-fastpath without an SDK."""
    return _fastpath("c", {})


def serve(app: Any) -> None:
    """Serve one request."""
    coroutine = app(scope(), _receive, _send)
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def request_bare(given: Given) -> None:
    """The application alone."""
    serve(given.bare("ASGI"))


def request(given: Given) -> None:
    """Stock's middleware around it."""
    serve(given.instrumented("ASGI"))


def excluded(given: Given) -> None:
    """The same with the URL excluded."""
    serve(given.instrumented("excluded"))


def stream_bare(given: Given) -> None:
    """An answer in 20 parts."""
    serve(given.bare("stream"))


def stream(given: Given) -> None:
    """Stock's middleware around it."""
    serve(given.instrumented("stream"))


def starlette_bare(given: Given) -> None:
    """Starlette with three routes."""
    serve(given.bare("Starlette"))


def starlette(given: Given) -> None:
    """Instrumented."""
    serve(given.instrumented("Starlette"))


def fastapi_bare(given: Given) -> None:
    """FastAPI with three routes."""
    serve(given.bare("FastAPI"))


def fastapi(given: Given) -> None:
    """Instrumented."""
    serve(given.instrumented("FastAPI"))


def fastapi_200_bare(given: Given) -> None:
    """FastAPI with 200 routes; the last one is requested."""
    serve(given.bare("FastAPI, 200 routes"))


def fastapi_200(given: Given) -> None:
    """Instrumented."""
    serve(given.instrumented("FastAPI, 200 routes"))


def fastapi_own(given: Given) -> None:
    """FastAPI with three routes and its own telemetry: four spans."""
    serve(given.instrumented("own"))


def fastapi_own_200(given: Given) -> None:
    """The same with 200 routes; the last one is requested."""
    serve(given.instrumented("own, 200 routes"))
