"""The WSGI middleware with this package: equal spans and metrics, and requests that stock loses."""

from __future__ import annotations

import json
import threading
import urllib.request
from types import SimpleNamespace
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from http_strategies import PARENT, environs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context, trace
from opentelemetry.instrumentation._semconv import _StabilityMode
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware

FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
CAPTURE = {
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": "x-secret,host",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE": "content-.*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS": ".*secret.*",
}


class _Chunks:
    """An iterable that is closed."""

    def __init__(self, told, chunks):
        self.told = told
        self.chunks = iter(chunks)

    def __iter__(self):
        return self

    def __next__(self):
        self.told.append(("current", trace.get_current_span().is_recording()))
        return next(self.chunks)

    def close(self):
        self.told.append("closed")


def _generated(chunks, fails):
    yield from chunks
    if fails:
        raise ValueError("while it was read")


def application(told, status, kind, chunks):
    """An application that answers in this way, or fails on its paths."""

    def app(environ, start_response):
        told.append(trace.get_current_span().is_recording())
        if environ["PATH_INFO"] == "/boom":
            raise ValueError("before the response")
        start_response(status, [("Content-Type", "text/plain"), ("Content-Length", "3")])
        if environ["PATH_INFO"] == "/late":
            raise KeyError("after start_response")
        if environ["PATH_INFO"] == "/nope":
            start_response("404 Not Found", [], None)
        if kind == "list":
            return list(chunks)
        return _Chunks(told, chunks) if kind == "closed" else _generated(chunks, kind == "fails")

    return app


def served(app, environ, told, reads):
    """Serve a request as a server that reads this number of chunks, and notes what it sees."""
    try:
        body = app(environ, lambda *args: told.append(args))
        iterator = iter(body)
        for _, chunk in zip(range(reads), iterator, strict=False):
            told.append(chunk)
        if hasattr(body, "close"):
            body.close()
    except Exception as error:
        told.append((type(error), str(error)))
    told.append(trace.get_current_span().is_recording())


@pytest.mark.proves("wsgi.request")
@FEW
@given(
    requests=st.lists(environs(), min_size=1, max_size=8),
    status=st.sampled_from(["200 OK", "204 No Content", "302 Found", "500 Oh", "99 Low", "odd status", "600 High"]),
    kind=st.sampled_from(["list", "closed", "generator", "fails"]),
    chunks=st.lists(st.just(b"abc"), max_size=3),
    reads=st.integers(1, 5),
    hooks=st.sampled_from(["none", "both", "response raises"]),
    captures=st.booleans(),
    outer=st.booleans(),
)
def test_equals_stock(both, mode, environ, requests, status, kind, chunks, reads, hooks, captures, outer):
    """Random requests, answers, servers, hooks and captured headers: equal telemetry, and an equal outcome."""
    del mode
    for name, value in CAPTURE.items():
        environ.setenv(name, value) if captures else environ.delenv(name, raising=False)

    def run(telemetry):
        told = []

        def request_hook(span, _environ):
            told.append(("hook", getattr(span, "name", None)))
            span.set_attribute("hooked", 1)

        def response_hook(span, _environ, status, headers):
            span.set_attribute("answered", f"{status} {headers}")
            if hooks == "response raises":
                raise LookupError("hook")

        app = OpenTelemetryMiddleware(
            application(told, status, kind, chunks),
            request_hook if hooks != "none" else None,
            response_hook if hooks != "none" else None,
            telemetry.tracer_provider,
            telemetry.meter_provider,
        )
        tracer = telemetry.tracer_provider.get_tracer("outer")
        for request in requests:
            if outer:
                with tracer.start_as_current_span("outer"):
                    served(app, dict(request), told, reads)
            else:
                served(app, dict(request), told, reads)
        return told

    both(run)


@pytest.fixture
def environ(monkeypatch):
    """The environment, to set variables in."""
    return monkeypatch


def _app(telemetry, app, **hooks):
    return OpenTelemetryMiddleware(
        app, tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider, **hooks
    )


def _environ(**more):
    return {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/x",
        "wsgi.url_scheme": "http",
        "SERVER_NAME": "h",
        "SERVER_PORT": "80",
        **more,
    }


def test_a_body_that_is_not_read(ours, telemetry):
    """Difference: a server may close the body without reading it. The span ends, and no parent stays in the thread."""
    del ours
    app = _app(telemetry, lambda _environ, start: start("304 Not Modified", []) or [])
    body = app(_environ(HTTP_TRACEPARENT=PARENT), lambda *_: None)
    assert trace.get_current_span() is trace.INVALID_SPAN
    body.close()
    body.close()
    [span] = telemetry.spans()
    assert span.parent.is_remote
    assert span.attributes["http.status_code"] == 304


def test_a_status_without_a_reason(ours, telemetry):
    """Difference: a status without a reason is taken; stock raises ValueError in the application."""
    del ours
    list(_app(telemetry, lambda _environ, start: start("200", []) or [b"x"])(_environ(), lambda *_: None))
    [span] = telemetry.spans()
    assert span.attributes["http.status_code"] == 200


@pytest.mark.parametrize("method", ["GET", "BREW"])
def test_a_path_that_is_not_latin_1(ours, mode, telemetry, no_faults, method):
    """Difference: it is quoted as UTF-8, if whoever made the environ has decoded it; stock raises an error."""
    del ours
    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or [b"x"])
    environ = _environ(REQUEST_METHOD=method, SCRIPT_NAME="/\u4e2d", PATH_INFO="/caf\xe9", QUERY_STRING="a=1")
    assert list(app(environ, lambda *_: None)) == [b"x"]
    [span] = telemetry.spans()
    if mode is not _StabilityMode.HTTP:
        assert span.attributes["http.url"] == "http://h/%E4%B8%AD/caf%C3%A9?a=1"
    assert environ["SCRIPT_NAME"] == "/\u4e2d"
    assert no_faults.counts() == {}


@pytest.mark.parametrize("method", ["GET", "BREW"])
def test_a_secret_in_the_query(ours, mode, telemetry, method):
    """Difference: `url.query` has no value that is redacted in `http.url`, also with a raw URI of the server."""
    del ours
    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or [b"x"])
    list(
        app(
            _environ(REQUEST_METHOD=method, RAW_URI="/x?a=1&sig=SECRET", QUERY_STRING="a=1&sig=SECRET"), lambda *_: None
        )
    )
    [span] = telemetry.spans()
    assert span.attributes.get("url.query") == (None if mode is _StabilityMode.DEFAULT else "a=1&sig=REDACTED")


def test_a_body_whose_end_fails(ours, telemetry):
    """Difference: its own `close` raises. The span ends, and no parent stays in the thread."""
    del ours

    class Chunks(list):
        def close(self):
            raise ValueError("while it was closed")

    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or Chunks([b"x"]))
    with pytest.raises(ValueError, match="while it was closed"):
        list(app(_environ(HTTP_TRACEPARENT=PARENT), lambda *_: None))
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert len(telemetry.spans()) == 1


@pytest.mark.parametrize("where", ["request_hook", "application"])
def test_nothing_is_left_open(ours, telemetry, where):
    """Difference: a raising request hook, or an exception that asks the process to stop, leaves no span open."""
    del ours

    def stop(*_args):
        raise SystemExit

    app = _app(telemetry, stop, request_hook=stop if where == "request_hook" else None)
    with pytest.raises(SystemExit):
        app(_environ(HTTP_TRACEPARENT=PARENT), lambda *_: None)
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert len(telemetry.spans()) == 1
    active = [point for point in telemetry.points() if "active" in point]
    assert all(point.endswith(" 0]") for point in active)


def test_a_stop_while_a_request_is_counted(ours, telemetry, stopped):
    """A KeyboardInterrupt then reaches the server; the span ends, and is no longer the current one."""
    del ours
    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or [b"x"])
    app.active_requests_counter = stopped
    with pytest.raises(KeyboardInterrupt):
        app(_environ(), lambda *_: None)

    assert dict(context.get_current()) == {}
    assert len(telemetry.spans()) == 1


def test_a_stop_while_the_duration_is_recorded(ours, telemetry):
    """Likewise, and the request is no longer counted as active."""
    del ours

    def stop(*_args, **_kwargs):
        raise KeyboardInterrupt

    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or [b"x"])
    app.duration_histogram_old = SimpleNamespace(record=stop)
    with pytest.raises(KeyboardInterrupt):
        app(_environ(), lambda *_: None)

    assert dict(context.get_current()) == {}
    assert len(telemetry.spans()) == 1
    assert [json.loads(point)[3] for point in telemetry.points()] == [0]


def test_instrumented_before_and_undone(instrumentor, core, telemetry):
    """A middleware that exists already is served by this package, and by stock again once that is undone."""
    app = _app(telemetry, lambda _environ, start: start("200", []) or [b"x"])
    stock = OpenTelemetryMiddleware.__call__
    instrumentor.instrument(core=core, disabled="exceptions")
    assert list(app(_environ(), lambda *_: None)) == [b"x"]
    instrumentor.uninstrument()
    assert OpenTelemetryMiddleware.__call__ is stock
    with pytest.raises(ValueError, match="not enough values"):
        app(_environ(), lambda *_: None)


def test_between_the_application_and_the_body(ours, telemetry):
    """Difference: the remote parent is not current while neither the application nor its body runs."""
    del ours
    seen = []

    def chunks():
        seen.append(trace.get_current_span().is_recording())
        yield b"x"

    def answer(_environ, start_response):
        start_response("200 OK", [])
        return chunks()

    body = _app(telemetry, answer)(_environ(HTTP_TRACEPARENT=PARENT), lambda *_: None)
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert list(body) == [b"x"]
    assert seen == [True]
    [span] = telemetry.spans()
    assert span.parent.span_id == 0xB7AD6B7169203331


def test_strangers_grow_nothing(ours, telemetry):
    """Random Host headers, paths and user agents are kept for a bounded number of requests, long ones not at all."""
    del ours
    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or [b"x"])
    for number in range(1100):
        agent = "a" * 2000 if number % 2 else f"agent {number}"
        environ = _environ(HTTP_HOST=f"h{number}", HTTP_USER_AGENT=agent, PATH_INFO=f"/{number}")
        list(app(environ, lambda *_: None))
    shapes = app._otel_fastpath
    if hasattr(shapes, "_kept"):  # the compiled core does not show it
        assert len(shapes._kept) <= 512
        assert len(shapes._outcomes) <= 512
        assert all(len(str(key)) < 1500 for key in shapes._kept)
    assert len(telemetry.spans()) == 1100


def test_a_fault_of_ours(ours, telemetry, no_faults, monkeypatch):
    """If our code fails, stock's serves the request, with its span."""
    del ours
    app = _app(telemetry, lambda _environ, start: start("200 OK", []) or [b"x"])
    assert list(app(_environ(), lambda *_: None)) == [b"x"]
    environ = _environ(REQUEST_METHOD=["unhashable"])
    monkeypatch.setitem(environ, "REQUEST_METHOD", type("Odd", (str,), {"__hash__": None})("GET"))
    assert list(app(environ, lambda *_: None)) == [b"x"]
    assert len(telemetry.spans()) == 2
    assert sum(no_faults.counts().values()) == 1


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_args):
        """Say nothing."""


def test_on_a_server(ours, telemetry):
    """Behind wsgiref's server, each request has its span, also from clients at the same time."""
    del ours

    def answer(_environ, start_response):
        start_response("200 OK", [("Content-Length", "1")])
        return [b"x"]

    app = _app(telemetry, answer)
    with make_server("127.0.0.1", 0, app, handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def call():
            for number in range(10):
                url = f"http://127.0.0.1:{server.server_port}/{number}"
                with urllib.request.urlopen(urllib.request.Request(url, headers={"traceparent": PARENT})) as answer:
                    assert answer.read() == b"x"

        clients = [threading.Thread(target=call) for _ in range(4)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        server.shutdown()
        thread.join()
    spans = telemetry.spans()
    assert len(spans) == 40
    assert {span.parent.span_id for span in spans} == {0xB7AD6B7169203331}
    assert {span.status.description for span in spans} == {None}
