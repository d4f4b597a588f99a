"""Requests that come or end in other ways than most: nothing of them is in others, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from wsgiref.util import setup_testing_defaults

import flask
import pytest
import urllib3
from aiohttp import web
from aiohttp.test_utils import TestServer, make_mocked_request
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path
from newer_releases import flask_counts_out
from opentelemetry import context, trace
from opentelemetry.instrumentation import aiohttp_server
from opentelemetry.instrumentation._semconv import _StabilityMode
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.django.middleware.otel_middleware import _DjangoMiddleware
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from opentelemetry.sdk.trace import TracerProvider

from otel_fastpath.instrumentor import FastpathInstrumentor

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class _InstrumentedApplication:DeprecationWarning")


@pytest.mark.parametrize(
    "first",
    [
        b"GET http://u:secret@h:8080/first HTTP/1.1\r\nHost: h\r\n",
        b"GET /first HTTP/1.1\r\nHost: u:secret@h\r\n",
        b"GET http://h:9090/first HTTP/1.1\r\nHost: h\r\n",
    ],
)
def test_what_one_client_of_aiohttp_sends(both, mode, with_aiohttp, first):
    """A whole URL as the target, and a password in it or in the Host header, are in the spans of no other client."""
    del mode
    requests = (first, b"GET /second HTTP/1.1\r\nHost: h\r\n", first)

    async def run():
        async def item(_request):
            return web.Response(text="ok")

        app = web.Application()
        app.router.add_get("/{name}", item)
        async with TestServer(app) as server:
            answers = []
            for request in requests:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(request + b"User-Agent: a\r\nConnection: close\r\n\r\n")
                answers.append((await reader.read()).split(b"\r\n")[0])
                writer.close()
            return answers

    both(lambda telemetry: with_aiohttp(telemetry, run()))


@pytest.mark.usefixtures("ours")
def test_a_stop_while_a_request_of_aiohttp_is_counted(telemetry, with_aiohttp, monkeypatch, stopped):
    """A KeyboardInterrupt then reaches the server; the span ends, and is no longer the current one."""

    async def answer(_request):
        return web.Response()

    async def run():
        monkeypatch.setattr(aiohttp_server, "active_requests_counter", stopped)
        (middleware,) = web.Application().middlewares
        with pytest.raises(KeyboardInterrupt):
            await middleware(make_mocked_request("GET", "/items"), answer)
        return dict(context.get_current())

    assert with_aiohttp(telemetry, run()) == {}
    assert len(telemetry.spans()) == 1


@flask_counts_out
def test_a_teardown_of_flask_that_raises(both, mode):
    """The functions after it are not called: the span ends all the same, and the next one is not below it."""
    del mode

    def run(telemetry):
        app = flask.Flask("test")
        FlaskInstrumentor.instrument_app(
            app, tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider
        )
        app.add_url_rule("/items", view_func=lambda: "ok")

        @app.teardown_request
        def fail(_error):
            if flask.request.args:
                raise LookupError("in the teardown")

        client = app.test_client()
        with pytest.raises(LookupError):
            client.get("/items?fails=1")
        return client.get("/items").status, trace.get_current_span().is_recording()

    both(run)


def test_a_flask_request_with_a_response(instrumentor, core, caplog):
    """Below another span, stock detaches a context that it has not attached; this package does not."""

    def run():
        app, tracers = flask.Flask("test"), TracerProvider(shutdown_on_exit=False)
        FlaskInstrumentor.instrument_app(app, tracer_provider=tracers)

        @app.route("/items")
        def items():
            flask.request.response = flask.Response("items")
            return "ok"

        caplog.clear()
        with tracers.get_tracer("application").start_as_current_span("around"):
            assert app.test_client().get("/items").status_code == 200
        return [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]

    of_stock = run()
    instrumentor.instrument(core=core, disabled="exceptions")

    assert (of_stock, run()) == (["Failed to detach context"], [])


class Stop(BaseException):
    """As gevent's time-out, or a server's that ends a worker."""


def _stop(_request):
    raise Stop


def _change(request):
    fastpath = FastpathInstrumentor()
    how = request.GET["how"]
    if fastpath.is_instrumented_by_opentelemetry:
        fastpath.uninstrument()
        if how != "off":
            fastpath.instrument(core=how, disabled="exceptions")
    return HttpResponse("ok")


class Override:
    """A middleware in front that takes the method from a header."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        """Serve a request."""
        request.method = request.headers.get("X-Method", request.method)
        return self.get_response(request)


urlpatterns = [
    path("items/<int:number>", lambda _request, number: HttpResponse(number)),
    path("stop", _stop),
    path("change", _change),
]


@contextmanager
def instrumented_django(telemetry):
    """While Django is instrumented, with these providers."""
    DjangoInstrumentor().instrument(tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider)
    try:
        yield
    finally:
        DjangoInstrumentor().uninstrument()


ENVIRON = {"PATH_INFO": "/items/1", "HTTP_TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
setup_testing_defaults(ENVIRON)


def ask(handler, target, **more):
    """Ask Django; returns the status, or the name of an exception."""
    environ = {"PATH_INFO": target.partition("?")[0], "QUERY_STRING": target.partition("?")[2], **more}
    setup_testing_defaults(environ)
    statuses = []
    try:
        handler(environ, lambda status, _headers: statuses.append(status)).close()
    except BaseException as error:
        return type(error).__name__
    return statuses[0]


@pytest.mark.usefixtures("configured", "mode")
def test_a_view_of_django_that_stops_the_worker(both):
    """Its span ends when the request is forgotten, and the next one is not below it."""

    def run(telemetry):
        with instrumented_django(telemetry):
            handler = WSGIHandler()
            answers = []
            for target in ("/items/1", "/stop", "/items/2"):
                answers.append(ask(handler, target))
                if sys.version_info < (3, 11):
                    # There, the exception and its frames refer to each other.
                    gc.collect()
            return answers

    both(run)


@pytest.mark.usefixtures("configured", "mode")
@pytest.mark.parametrize("method", ["PUT", "weird"])
def test_a_middleware_of_django_that_sets_the_method(both, monkeypatch, method):
    """The name of the span has it."""
    monkeypatch.setenv("OTEL_PYTHON_DJANGO_MIDDLEWARE_POSITION", "1")

    def run(telemetry):
        with override_settings(MIDDLEWARE=[f"{__name__}.Override"]), instrumented_django(telemetry):
            return ask(WSGIHandler(), "/items/1", HTTP_X_METHOD=method, REQUEST_METHOD="POST")

    both(run)


@pytest.mark.usefixtures("configured", "mode")
def test_a_host_that_django_refuses(instrumentor, core, telemetry, no_faults):
    """Anybody may send any: it has no telemetry, as with stock, which answers 400 by itself."""
    instrumentor.instrument(core=core, disabled="exceptions")
    with override_settings(ALLOWED_HOSTS=["localhost"]), instrumented_django(telemetry):
        handler = WSGIHandler()
        answers = [ask(handler, "/items/1", HTTP_HOST=host) for host in ("evil", "localhost")]

    assert answers == ["200 OK", "200 OK"]
    assert len(telemetry.spans()) == 1
    assert "evil" not in str(telemetry.seen())
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("configured", "ours")
def test_a_stop_while_a_request_of_django_is_counted(telemetry, monkeypatch, stopped):
    """A KeyboardInterrupt then reaches the server; the span ends, and is no longer the current one."""
    with instrumented_django(telemetry):
        handler = WSGIHandler()
        monkeypatch.setattr(_DjangoMiddleware, "_active_request_counter", stopped)
        with pytest.raises(KeyboardInterrupt) as caught:
            handler(dict(ENVIRON), lambda *_: None)

        # The exception keeps the request alive, which would end with it.
        assert caught.value.__traceback__ is not None
        assert dict(context.get_current()) == {}
        assert len(telemetry.spans()) == 1


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("method", ["GET", "BREW"])
def test_a_path_for_django_that_is_not_latin_1(instrumentor, core, mode, telemetry, no_faults, method):
    """Django puts the decoded path into the environ; without a raw URI of the server, stock answers 500."""
    instrumentor.instrument(core=core, disabled="exceptions")
    with instrumented_django(telemetry):
        answer = ask(WSGIHandler(), "/items/\u4e2d".encode().decode("latin-1"), REQUEST_METHOD=method)

    assert answer == "404 Not Found"
    [span] = telemetry.spans()
    if mode is not _StabilityMode.HTTP:
        assert span.attributes["http.url"] == "http://127.0.0.1/items/%E4%B8%AD"
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("configured", "mode")
def test_an_application_of_django_from_before(instrumentor, core, telemetry, no_faults):
    """Django keeps some methods that it found when it was loaded: stock's, then those of this package as it was."""
    with instrumented_django(telemetry):
        handler = WSGIHandler()
        expected = [ask(handler, "/items/1"), *telemetry.points()]
        for _ in "12":
            instrumentor.instrument(core=core, disabled="exceptions")
            assert ask(handler, "/items/1") == "200 OK"
            instrumentor.uninstrument()

    assert expected[0] == "200 OK"
    assert telemetry.points() == [each.replace("1]", "3]") for each in expected[1:]]
    assert [dict(span.attributes)["http.route"] for span in telemetry.spans()] == ["items/<int:number>"] * 3
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("configured", "mode")
@pytest.mark.parametrize("how", ["off", "c", "py"])
def test_a_change_in_the_middle_of_a_request_of_django(instrumentor, core, telemetry, how):
    """The request that is in progress is answered, counted out, and leaves nothing behind."""
    if how == "c" and core != "c":
        pytest.importorskip("otel_fastpath.http.django.middleware_c")
    instrumentor.instrument(core=core, disabled="exceptions")
    with instrumented_django(telemetry):
        handler = WSGIHandler()
        answers = [ask(handler, each) for each in (f"/change?how={how}", "/items/1")]

    assert answers == ["200 OK", "200 OK"]
    assert [span.parent for span in telemetry.spans()] == [None, None]
    active = [point for point in telemetry.points() if "active_requests" in point]
    assert active
    assert all(point.endswith(" 0]") for point in active)


class Odd(BaseHTTPRequestHandler):
    """A server whose answers have odd lengths."""

    def do_GET(self):
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Length", "none")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_args):
        """Be quiet."""


@pytest.mark.usefixtures("mode")
def test_a_length_that_is_no_number(instrumentor, core, telemetry, no_faults):
    """A server can send anything: with stock, the call raises."""
    server = HTTPServer(("127.0.0.1", 0), Odd)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    instrumentor.instrument(core=core, disabled="exceptions")
    URLLib3Instrumentor().instrument(tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider)
    try:
        with urllib3.PoolManager() as pool:
            answer = pool.request("GET", f"http://127.0.0.1:{server.server_port}/")
    finally:
        URLLib3Instrumentor().uninstrument()
        server.shutdown()
        server.server_close()

    assert answer.status == 200
    assert any("duration" in point for point in telemetry.points())
    assert no_faults.counts() == {}
