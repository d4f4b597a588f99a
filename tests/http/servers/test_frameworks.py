"""Flask, Django and aiohttp.web with this package: equal spans and metrics, in each load order, and what is undone."""

from __future__ import annotations

import asyncio

import flask
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from http_strategies import PARENT, UNSAMPLED
from newer_releases import flask_counts_out
from opentelemetry import baggage, context, trace
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.flask import FlaskInstrumentor

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class _InstrumentedApplication:DeprecationWarning")

# Method, target, headers.
REQUESTS = [
    ("GET", "/items/3", {}),
    ("GET", "/items/3?a=1&sig=SECRET", {"traceparent": PARENT}),
    ("POST", "/items/4", {"traceparent": UNSAMPLED}),
    ("GET", "/nope?x=1", {"baggage": "user=1"}),
    ("GET", "/boom", {"traceparent": PARENT, "baggage": "user=1"}),
    ("BREW", "/items/3", {"User-Agent": "googlebot"}),
    ("GET", "/healthz", {"traceparent": PARENT}),
    ("GET", "/items/3", {"X-Secret": "s"}),
]
CAPTURE = {
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": "x-secret,user.*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE": "content-.*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS": ".*secret.*",
}


@pytest.fixture(params=[False, True], ids=["plain", "captured"])
def captures(request, monkeypatch):
    """Without and with captured headers."""
    for name, value in CAPTURE.items():
        monkeypatch.setenv(name, value) if request.param else monkeypatch.delenv(name, raising=False)
    return request.param


def flask_app(told):
    """An application with a route, one that fails, and one that is excluded."""
    app = flask.Flask("test")

    @app.route("/items/<int:number>", methods=["GET", "POST"])
    def item(number):
        told.append((number, context.get_value("SQLCOMMENTER_ORM_TAGS_AND_VALUES"), baggage.get_all()))
        return flask.Response(iter([b"a", b"b"]), content_type="text/plain")

    @app.route("/boom")
    def boom():
        raise ValueError("in the view")

    @app.route("/healthz")
    def healthz():
        return "ok"

    return app


def flask_requests(app):
    """What the requests returned."""
    client = app.test_client()
    answers = [client.open(target, method=method, headers=headers) for method, target, headers in REQUESTS]
    return [(answer.status, answer.get_data()) for answer in answers]


@pytest.mark.proves("flask.*")
@pytest.mark.parametrize("hooks", ["none", "both", pytest.param("raises", marks=flask_counts_out)])
def test_flask(both, mode, captures, hooks):
    """Spans, metrics and answers of a Flask application are those of the stock instrumentation alone."""
    del mode, captures

    def run(telemetry):
        told = []

        def request_hook(span, environ):
            span.set_attribute("http.scheme", "hooked")
            told.append((getattr(span, "name", None), environ["PATH_INFO"]))

        def response_hook(span, status, headers):
            told.append((span is None, status, headers))
            if hooks == "raises":
                raise LookupError("hook")

        app = flask_app(told)
        FlaskInstrumentor.instrument_app(
            app,
            request_hook=request_hook if hooks != "none" else None,
            response_hook=response_hook if hooks != "none" else None,
            tracer_provider=telemetry.tracer_provider,
            meter_provider=telemetry.meter_provider,
            excluded_urls="healthz",
        )
        try:
            told.append(flask_requests(app))
        except LookupError as error:
            told.append(str(error))
        told.append(trace.get_current_span().is_recording())
        return told

    both(run)


def test_flask_instrumented_before_and_undone(instrumentor, core, telemetry):
    """The functions of an application that is instrumented already are taken over, stay the same, and given back."""
    app = flask_app([])
    FlaskInstrumentor.instrument_app(
        app, tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider
    )
    code = app.wsgi_app.__code__
    before = (app.wsgi_app, *app.before_request_funcs[None], *app.teardown_request_funcs[None])
    instrumentor.instrument(core=core, disabled="exceptions")
    assert app.wsgi_app.__code__ is not code
    answers = flask_requests(app)
    instrumentor.uninstrument()
    assert app.wsgi_app.__code__ is code
    assert (app.wsgi_app, *app.before_request_funcs[None], *app.teardown_request_funcs[None]) == before
    assert flask_requests(app) == answers
    spans = [span.name for span in telemetry.spans()]
    assert spans[: len(spans) // 2] == spans[len(spans) // 2 :]
    FlaskInstrumentor.uninstrument_app(app)


def test_flask_durations_have_their_context_from_the_api(instrumentor, core, telemetry, monkeypatch):
    """Other code may replace the function that makes it, as the stock tests do."""
    asked = []
    stock = trace.set_span_in_context
    monkeypatch.setattr(trace, "set_span_in_context", lambda span, *more: asked.append(span) or stock(span, *more))
    app = flask_app([])
    FlaskInstrumentor.instrument_app(
        app, tracer_provider=telemetry.tracer_provider, meter_provider=telemetry.meter_provider
    )
    instrumentor.instrument(core=core, disabled="exceptions")
    app.test_client().get("/items/3")
    FlaskInstrumentor.uninstrument_app(app)
    assert [span.name for span in telemetry.spans()] == [span.name for span in asked] == ["GET /items/<int:number>"]


def _item(_request, number):
    return HttpResponse(f"{number} {baggage.get_all()}")


def _boom(_request):
    raise ValueError("in the view")


urlpatterns = [path("items/<int:number>", _item), path("boom", _boom), path("healthz", lambda _: HttpResponse("ok"))]


@pytest.mark.proves("django.*")
@pytest.mark.parametrize("hooks", ["none", "both", "raises"])
def test_django(both, mode, captures, hooks, configured):
    """Spans, metrics and answers of a Django application are those of the stock instrumentation alone."""
    del mode, captures, configured

    def run(telemetry):
        told = []

        def request_hook(span, request):
            told.append((getattr(span, "name", None), request.path))
            if hooks == "raises":
                raise LookupError("hook")

        def response_hook(span, _request, response):
            span.set_attribute("answered", response.status_code)
            if hooks == "raises":
                raise LookupError("hook")

        DjangoInstrumentor().instrument(
            tracer_provider=telemetry.tracer_provider,
            meter_provider=telemetry.meter_provider,
            request_hook=request_hook if hooks != "none" else None,
            response_hook=response_hook if hooks != "none" else None,
            excluded_urls="healthz",
        )
        try:
            client = Client(raise_request_exception=False)
            for method, target, headers in REQUESTS:
                answer = client.generic(method, target, headers=headers)
                told.append((answer.status_code, answer.content))
        finally:
            DjangoInstrumentor().uninstrument()
        told.append(trace.get_current_span().is_recording())
        return told

    both(run)


async def aiohttp_requests():
    """What the requests of concurrent clients returned."""

    async def item(request):
        await asyncio.sleep(0)
        return web.Response(text=request.match_info["number"])

    async def boom(_request):
        raise ValueError("in the handler")

    async def unavailable(_request):
        raise web.HTTPServiceUnavailable

    app = web.Application()
    app.router.add_route("*", "/items/{number}", item)
    app.router.add_get("/boom", boom)
    app.router.add_get("/healthz", unavailable)
    async with TestClient(TestServer(app)) as client:
        told = []
        for method, target, headers in [*REQUESTS, ("GET", "/items/a%2F/../b?q=%20", {})]:
            async with client.request(method, target, headers={"Host": "h:80", **headers}) as answer:
                told.append((answer.status, await answer.text()))
        return told


@pytest.mark.proves("aiohttp_server.request")
def test_aiohttp(both, mode, captures, monkeypatch, with_aiohttp):
    """Spans, metrics and answers of an application of aiohttp.web are those of the stock instrumentation alone."""
    del mode, captures
    monkeypatch.setenv("OTEL_PYTHON_AIOHTTP_SERVER_EXCLUDED_URLS", "never")

    both(lambda telemetry: with_aiohttp(telemetry, aiohttp_requests()))
