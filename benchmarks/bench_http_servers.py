"""A request through the stock instrumentations of WSGI, Flask, aiohttp.web and Django, without a socket.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'WSGI*'

`GET /items/3` with five headers is answered with JSON, with traces and metrics. `bare` calls the same application
without an instrumentation.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import bench_span
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased
from setups import instrument

if TYPE_CHECKING:
    from collections.abc import Callable

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HEADERS = {
    "Host": "localhost:8000",
    "User-Agent": "curl/8.5.0",
    "Accept": "*/*",
    "Accept-Encoding": "gzip",
    "X-Request-Id": "4711",
}
ANSWER = b'{"id": 3}'


def _environ() -> dict[str, Any]:
    found = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in HEADERS.items()}
    return {
        **found,
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/items/3",
        "QUERY_STRING": "",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": "50000",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": sys.stdin.buffer,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }


def _start_response(_status: str, _headers: Any, _exc_info: Any = None) -> Any:
    return None


class Given:
    """The applications that the callables of this file call.

    Attributes:
        environ: A request.
        bare: The application of this framework without an instrumentation.
        app: The application with it.
    """

    def __init__(self, providers: dict[str, Any], make: Callable[[], tuple[Any, Any]]) -> None:
        trace._set_tracer_provider(providers["tracer_provider"], log=False)
        metrics._internal._set_meter_provider(providers["meter_provider"], log=False)
        self.environ = _environ()
        self.bare, self.app = make()


def providers(sampled: bool = True) -> dict[str, Any]:
    """Providers with a batch processor whose thread never wakes, and a reader that is never read."""
    provider = bench_span.batching(ParentBased(ALWAYS_ON if sampled else ALWAYS_OFF))
    return {"tracer_provider": provider, "meter_provider": MeterProvider([InMemoryMetricReader()])}


def _wsgi() -> tuple[Any, Any]:
    from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware  # noqa: PLC0415  # after the patches

    def app(_environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(ANSWER)))])
        return [ANSWER]

    return app, OpenTelemetryMiddleware(app)


def _flask() -> tuple[Any, Any]:
    import flask  # noqa: PLC0415  # only where it is measured
    from opentelemetry.instrumentation.flask import FlaskInstrumentor  # noqa: PLC0415  # after the patches

    def made() -> Any:
        app = flask.Flask("bench")

        @app.route("/items/<int:item>")
        def item(item: int) -> Any:  # noqa: ARG001  # the route's
            return ANSWER, {"Content-Type": "application/json"}

        app.add_url_rule("/healthz", view_func=lambda: ANSWER, endpoint="healthz")
        return app

    bare, app = made(), made()
    FlaskInstrumentor.instrument_app(app)
    return bare, app


def _django() -> tuple[Any, Any]:
    import django  # noqa: PLC0415  # only where it is measured
    from django.conf import settings  # noqa: PLC0415  # likewise
    from django.http import HttpResponse  # noqa: PLC0415  # likewise
    from django.urls import path  # noqa: PLC0415  # likewise
    from opentelemetry.instrumentation.django import DjangoInstrumentor  # noqa: PLC0415  # after the patches

    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], MIDDLEWARE=[])
    django.setup()

    def item(_request: Any, item: int) -> Any:  # noqa: ARG001  # the route's
        return HttpResponse(ANSWER, content_type="application/json")

    globals()["urlpatterns"] = [path("items/<int:item>", item), path("healthz", lambda _: HttpResponse(ANSWER))]
    from django.core.handlers.wsgi import WSGIHandler  # noqa: PLC0415  # after the settings

    bare = WSGIHandler()
    DjangoInstrumentor().instrument()
    return bare, WSGIHandler()


def _aiohttp() -> tuple[Any, Any]:
    from aiohttp import web  # noqa: PLC0415  # only where it is measured
    from opentelemetry.instrumentation.aiohttp_server import AioHttpServerInstrumentor  # noqa: PLC0415  # after the patches

    async def item(_request: Any) -> Any:
        return web.Response(body=ANSWER, content_type="application/json")

    def made() -> Any:
        app = web.Application()
        app.router.add_get("/items/{item}", item)
        app.router.add_get("/healthz", item)
        app.freeze()
        return app

    # The application asks for the current loop, which Python 3.14 does not make by itself.
    asyncio.set_event_loop(asyncio.new_event_loop())
    bare = made()
    AioHttpServerInstrumentor().instrument()
    return bare, made()


_FRAMEWORKS = {"wsgi": _wsgi, "flask": _flask, "aiohttp": _aiohttp, "django": _django}


def _given(framework: str, core: str | None, sampled: bool = True, excluded: bool = False) -> Given:
    if excluded:
        os.environ["OTEL_PYTHON_EXCLUDED_URLS"] = "healthz,metrics$"
    if core is not None:
        instrument(core)
    return Given(providers(sampled), _FRAMEWORKS[framework])


def wsgi_stock() -> Given:
    """The stock middleware for WSGI."""
    return _given("wsgi", None)


def wsgi_pure() -> Given:
    """The same with the pure core."""
    return _given("wsgi", "py")


def wsgi_compiled() -> Given:
    """The same with the compiled core."""
    return _given("wsgi", "c")


def wsgi_dropped() -> Given:
    """The same, not sampled."""
    return _given("wsgi", "c", sampled=False)


def flask_stock() -> Given:
    """The stock instrumentation of Flask."""
    return _given("flask", None)


def flask_pure() -> Given:
    """The same with the pure core."""
    return _given("flask", "py")


def flask_compiled() -> Given:
    """The same with the compiled core."""
    return _given("flask", "c")


def flask_dropped() -> Given:
    """The same, not sampled."""
    return _given("flask", "c", sampled=False)


def flask_excluded() -> Given:
    """The same with excluded URLs."""
    return _given("flask", "c", excluded=True)


def flask_excluded_stock() -> Given:
    """The stock instrumentation with excluded URLs."""
    return _given("flask", None, excluded=True)


def django_stock() -> Given:
    """The stock instrumentation of Django."""
    return _given("django", None)


def django_pure() -> Given:
    """The same with the pure core."""
    return _given("django", "py")


def django_compiled() -> Given:
    """The same with the compiled core."""
    return _given("django", "c")


def django_dropped() -> Given:
    """The same, not sampled."""
    return _given("django", "c", sampled=False)


def django_excluded() -> Given:
    """The same with excluded URLs."""
    return _given("django", "c", excluded=True)


def django_excluded_stock() -> Given:
    """The stock instrumentation with excluded URLs."""
    return _given("django", None, excluded=True)


def aiohttp_stock() -> Given:
    """The stock instrumentation of aiohttp.web."""
    return _given("aiohttp", None)


def aiohttp_pure() -> Given:
    """The same with the pure core."""
    return _given("aiohttp", "py")


def aiohttp_compiled() -> Given:
    """The same with the compiled core."""
    return _given("aiohttp", "c")


def aiohttp_dropped() -> Given:
    """The same, not sampled."""
    return _given("aiohttp", "c", sampled=False)


def aiohttp_excluded() -> Given:
    """The same with excluded URLs."""
    return _given("aiohttp", "c", excluded=True)


def aiohttp_excluded_stock() -> Given:
    """The stock instrumentation with excluded URLs."""
    return _given("aiohttp", None, excluded=True)


def _read(app: Any, environ: dict[str, Any]) -> None:
    body = app(environ, _start_response)
    for _ in body:
        pass
    if hasattr(body, "close"):
        body.close()


def bare(given: Given) -> None:
    """A request to the application."""
    _read(given.bare, given.environ.copy())


def request(given: Given) -> None:
    """A request through the instrumentation."""
    _read(given.app, given.environ.copy())


def parent_bare(given: Given) -> None:
    """The same with a `traceparent` header."""
    _read(given.bare, {**given.environ, "HTTP_TRACEPARENT": PARENT})


def parent(given: Given) -> None:
    """The same through the instrumentation."""
    _read(given.app, {**given.environ, "HTTP_TRACEPARENT": PARENT})


def excluded_bare(given: Given) -> None:
    """A request whose URL is excluded."""
    _read(given.bare, {**given.environ, "PATH_INFO": "/healthz"})


def excluded(given: Given) -> None:
    """The same through the instrumentation."""
    _read(given.app, {**given.environ, "PATH_INFO": "/healthz"})


class _Connection:
    """What a request of aiohttp.web asks of its connection."""

    ssl_context = transport = None
    peername, sockname = ("127.0.0.1", 50000), ("127.0.0.1", 8080)


def _handle(app: Any, path: str, headers: dict[str, str]) -> None:
    from aiohttp import streams, web  # noqa: PLC0415  # only where it is measured
    from aiohttp.http import HttpVersion11, RawRequestMessage  # noqa: PLC0415  # likewise
    from multidict import CIMultiDict, CIMultiDictProxy  # noqa: PLC0415  # likewise
    from yarl import URL  # noqa: PLC0415  # likewise

    given = CIMultiDictProxy(CIMultiDict(headers))
    message = RawRequestMessage(
        "GET",
        path,
        HttpVersion11,
        given,
        (),
        should_close=False,
        compression=None,
        upgrade=False,
        chunked=False,
        url=URL(path),
    )
    # Without a writer, a task and a loop, which only sending the response needs.
    make: Any = web.Request
    coroutine = app._handle(make(message, streams.EMPTY_PAYLOAD, _Connection, None, None, None))
    with contextlib.suppress(StopIteration):
        coroutine.send(None)


def aiohttp_bare(given: Given) -> None:
    """A request to an application of aiohttp.web."""
    _handle(given.bare, "/items/3", HEADERS)


def aiohttp(given: Given) -> None:
    """A request through the instrumentation."""
    _handle(given.app, "/items/3", HEADERS)


def excluded_aiohttp_bare(given: Given) -> None:
    """A request whose path is excluded."""
    _handle(given.bare, "/healthz", HEADERS)


def excluded_aiohttp(given: Given) -> None:
    """The same through the instrumentation."""
    _handle(given.app, "/healthz", HEADERS)
