"""Requests that no browser makes: whatever a stranger sends is served as without this package, and is no fault."""

from __future__ import annotations

import asyncio

import flask
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.urls import path
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware as Asgi
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware as Wsgi

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
CAPTURE = {
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": ".*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE": ".*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS": ".*secret.*",
}
ODD = (
    *(
        b"\xff\\N{",
        b"\xff\\x",
        b"\xff\\U00110000",
        b"",
        b":",
        b"x:y",
        b"[",
        b"[::1",
        b"]:80",
        b"h:99999",
        b"h:-1",
        b"a@b@c",
        b"//",
        b"\\N{",
        b"\\x",
        b"\\u12",
    ),
    *(b"\xff\xfe", b"\xed\xa0\x80", "é".encode(), b"%", b"%zz", b"%00", b"#", b"?", b"\t", b"a" * 3000, b"00-", b"NaN"),
    *(b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-zz", b"-1", b"1e9", b"0x10", b"9" * 5000, b"\xb2"),
)
VALUES = st.sampled_from(ODD) | st.binary(max_size=12)
NAMES = (
    *(b"host", b"user-agent", b"content-length", b"traceparent", b"tracestate", b"baggage", b"x-odd", b"X-\xff", b""),
    *(b"forwarded", b"x-forwarded-for", b"\\N{"),
)
METHODS = ("GET", "get", "", "BREW", "\xe9", "A" * 300, "_OTHER")
REQUESTS = st.tuples(
    st.sampled_from(METHODS), VALUES, VALUES, st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5)
)


@pytest.fixture(autouse=True)
def captured(monkeypatch):
    """Headers are captured."""
    for name, value in CAPTURE.items():
        monkeypatch.setenv(name, value)


urlpatterns = [path("<path:rest>", lambda _request, rest: HttpResponse(rest))]


def _environ(method, target, query, headers):
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": "/" + target.decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
        "SERVER_NAME": "h",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.url_scheme": "http",
        "wsgi.input": __import__("io").BytesIO(),
        "wsgi.errors": __import__("io").StringIO(),
    }
    for name, value in headers:
        environ["HTTP_" + name.decode("latin-1").upper().replace("-", "_")] = value.decode("latin-1")
    return environ


def _ask_wsgi(app, request):
    answers = []
    try:
        body = app(_environ(*request), lambda status, *_: answers.append(status))
        for _ in body:
            pass
        getattr(body, "close", bool)()
    except Exception as error:  # whatever the application or stock raises
        answers.append(type(error).__name__)
    return answers


def _ask_asgi(app, request):
    method, target, query, headers = request
    answers = []

    async def send(message):
        answers.append(message.get("status"))

    async def receive():
        return {"type": "http.request", "body": b""}

    scope = {
        "type": "http",
        "method": method,
        "scheme": "http",
        "http_version": "1.1",
        "path": "/" + target.decode("utf-8", "surrogateescape"),
        "raw_path": b"/" + target,
        "root_path": "",
        "query_string": query,
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 5000),
        "headers": headers,
    }
    try:
        asyncio.run(app(scope, receive, send))
    except Exception as error:  # whatever the application or stock raises
        answers.append(type(error).__name__)
    return answers


def _each():
    """One odd part at a time."""
    for value in ODD:
        yield "GET", value, b"", []
        yield "GET", b"x", value, []
        for name in NAMES:
            yield "GET", b"x", b"", [(name, value)]
    for method in METHODS:
        yield method, b"x", b"", []


def _wsgi_app(_environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("X-Odd", "\\N{")])
    return [b"ok"]


async def _asgi_app(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-odd", b"\\N{"), (b"\xff", b"\xff")]})
    await send({"type": "http.response.body", "body": b"ok"})


def _flask_app():
    app = flask.Flask("hostile")
    app.add_url_rule("/<path:rest>", view_func=lambda rest: rest)
    return app


def _fastapi_app():
    app = FastAPI()

    @app.get("/{rest:path}")
    def item(rest):
        return len(rest)

    return app


class _Server:
    """Makes an instrumented application; `ask` sends one request."""

    def __init__(self, make, ask, undo=None):
        self.make, self.ask, self.undo = make, ask, undo or bool


def _django(handler):
    def make(providers):
        DjangoInstrumentor().instrument(**providers)
        return handler()

    return make


def _instrumented(make, instrumentor):
    def made(providers):
        app = make()
        instrumentor.instrument_app(app, **providers)
        return app

    return made


SERVERS = {
    "asgi": _Server(lambda providers: Asgi(_asgi_app, **providers), _ask_asgi),
    "wsgi": _Server(lambda providers: Wsgi(_wsgi_app, **providers), _ask_wsgi),
    "flask": _Server(_instrumented(_flask_app, FlaskInstrumentor()), _ask_wsgi),
    "fastapi": _Server(_instrumented(_fastapi_app, FastAPIInstrumentor()), _ask_asgi),
    "django": _Server(_django(WSGIHandler), _ask_wsgi, lambda: DjangoInstrumentor().uninstrument()),
    "django-asgi": _Server(_django(ASGIHandler), _ask_asgi, lambda: DjangoInstrumentor().uninstrument()),
}


@pytest.mark.usefixtures("ours", "configured")
@pytest.mark.parametrize("server", SERVERS)
def test_no_request_is_a_fault(server, telemetry, no_faults):
    """Whatever the method, path, query and headers are: what went wrong is not ours."""
    made = SERVERS[server]
    providers = {"tracer_provider": telemetry.tracer_provider, "meter_provider": telemetry.meter_provider}
    app = made.make(providers)

    def check(request):
        made.ask(app, request)
        assert no_faults.counts() == {}, request

    try:
        for request in _each():
            check(request)
        FEW(given(REQUESTS)(check))()
    finally:
        made.undo()


@pytest.mark.usefixtures("ours")
def test_no_raw_request_of_aiohttp_is_a_fault(with_aiohttp, telemetry, no_faults):
    """Likewise what aiohttp's parser lets through."""

    async def run():
        app = web.Application()

        async def answer(request):
            return web.Response(text=request.path, headers={"X-Odd": "\\N{"})

        app.router.add_route("*", "/{rest:.*}", answer)
        async with TestServer(app) as server:
            for value in ODD:
                for line in (b"GET /x", b"GET /" + value, b"GET http://" + value + b"/"):
                    for name in (b"Host", b"X-Odd", b"User-Agent", b"traceparent"):
                        reader, writer = await asyncio.open_connection(server.host, server.port)
                        head = line + b" HTTP/1.1\r\n" + name + b": " + value + b"\r\nConnection: close\r\n\r\n"
                        writer.write(head)
                        await reader.read()
                        writer.close()
                        assert no_faults.counts() == {}, head

    with_aiohttp(telemetry, run())


def test_a_list_of_excluded_urls_is_no_fault(instrumentor, core, telemetry, no_faults):
    """Stock takes a text or a list of its own class, and raises an error for another one: so it does here."""
    providers = {"tracer_provider": telemetry.tracer_provider, "meter_provider": telemetry.meter_provider}
    request = ("GET", b"x", b"", [])
    expected = _ask_asgi(Asgi(_asgi_app, excluded_urls=["health"], **providers), request)
    instrumentor.instrument(core=core, disabled="exceptions")

    assert _ask_asgi(Asgi(_asgi_app, excluded_urls=["health"], **providers), request) == expected == ["AttributeError"]
    assert no_faults.counts() == {}
