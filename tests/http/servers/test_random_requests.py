"""Random requests to Flask, Django and aiohttp.web: answers, spans and metrics are those without this package."""

from __future__ import annotations

from dataclasses import dataclass

import flask
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client
from django.urls import include, path
from http_strategies import PARENTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.flask import FlaskInstrumentor

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class _InstrumentedApplication:DeprecationWarning")

FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
TARGETS = (
    *("/items/3", "/items/77?a=1&sig=SECRET", "/items/x", "/nope?x=1", "/", "/caf%C3%A9", "/items/%33?q=%20"),
    *("/boom", "/refused", "/stream/ok", "/stream/fails", "/inner/things/5", "/inner/boom", "/healthz", "/status/599"),
)


@dataclass(frozen=True)
class Request:
    """One request of a client."""

    method: str
    target: str
    headers: dict
    body: bytes


def _headers(parts):
    parent, agent, secret = parts
    return {**parent, **({"User-Agent": agent} if agent else {}), **({"X-Secret": secret} if secret else {})}


REQUESTS = st.lists(
    st.builds(
        Request,
        method=st.sampled_from(["GET", "GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE", "BREW"]),
        target=st.sampled_from(TARGETS),
        headers=st.tuples(
            PARENTS, st.sampled_from([None, "curl/8.5.0", "googlebot", "alwayson"]), st.sampled_from([None, "s3cret"])
        ).map(_headers),
        body=st.sampled_from([b"", b"x" * 70_000]),
    ),
    min_size=1,
    max_size=5,
)
CAPTURE = {
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": "x-secret,user.*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE": "content-.*",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SANITIZE_FIELDS": ".*secret.*",
}


@pytest.fixture(autouse=True)
def captured(monkeypatch):
    """Headers are captured."""
    for name, value in CAPTURE.items():
        monkeypatch.setenv(name, value)


def _chunks(kind):
    yield b"a"
    if kind == "fails":
        raise ValueError("in the stream")
    yield b"b"


def flask_app():
    """An application with routes, a blueprint, streams and handlers of errors."""
    app, inner = flask.Flask("test"), flask.Blueprint("inner", "inner")

    @app.route("/items/<int:number>", methods=["GET", "POST", "DELETE"])
    def item(number):
        return f"{number} {len(flask.request.get_data())}"

    @app.route("/boom", methods=["GET", "POST"])
    @inner.route("/boom")
    def boom():
        raise ValueError("in the view")

    @app.route("/refused")
    def refused():
        flask.abort(403)

    @app.route("/stream/<kind>")
    def stream(kind):
        return flask.Response(_chunks(kind), content_type="text/plain")

    @inner.route("/things/<thing>", methods=["GET", "PUT"])
    def things(thing):
        return flask.jsonify(thing=thing), 201

    @app.route("/status/<int:code>")
    def status(code):
        return "odd", code

    @app.route("/healthz")
    def healthz():
        return "ok"

    @app.errorhandler(403)
    def forbidden(_error):
        return "not for you", 403

    app.register_blueprint(inner, url_prefix="/inner")
    return app


def _answered_by_flask(client, request):
    try:
        answer = client.open(request.target, method=request.method, headers=request.headers, data=request.body)
        with answer:
            return answer.status, answer.get_data()
    except ValueError as error:
        return str(error)


@pytest.mark.proves("flask.*")
def test_flask(both, mode):
    """Also streams that fail, and a blueprint."""
    del mode

    @FEW
    @given(requests=REQUESTS)
    def holds(requests):
        def run(telemetry):
            app = flask_app()
            FlaskInstrumentor.instrument_app(
                app,
                tracer_provider=telemetry.tracer_provider,
                meter_provider=telemetry.meter_provider,
                excluded_urls="healthz",
            )
            client = app.test_client()
            told = [_answered_by_flask(client, each) for each in requests]
            return [*told, trace.get_current_span().is_recording()]

        both(run)

    holds()


def _refuse(_request):
    raise PermissionDenied


def _boom(_request):
    raise ValueError("in the view")


urlpatterns = [
    path("items/<int:number>", lambda request, number: HttpResponse(f"{number} {len(request.body)}")),
    path("boom", _boom),
    path("refused", _refuse),
    path("stream/<kind>", lambda _, kind: StreamingHttpResponse(_chunks(kind))),
    path("status/<int:code>", lambda _, code: HttpResponse("odd", status=code)),
    path("healthz", lambda _: HttpResponse("ok")),
    path("inner/", include([path("things/<thing>", lambda _, thing: HttpResponse(thing)), path("boom", _boom)])),
]


@pytest.mark.proves("django.*")
@pytest.mark.usefixtures("configured")
def test_django(both, mode):
    """Also streams that fail, and routes that are included."""
    del mode

    @FEW
    @given(requests=REQUESTS)
    def holds(requests):
        def run(telemetry):
            DjangoInstrumentor().instrument(
                tracer_provider=telemetry.tracer_provider,
                meter_provider=telemetry.meter_provider,
                excluded_urls="healthz",
            )
            client, told = Client(raise_request_exception=False), []
            try:
                for each in requests:
                    answer = client.generic(each.method, each.target, each.body, headers=each.headers)
                    try:
                        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
                    except ValueError as error:
                        body = str(error)
                    told.append((answer.status_code, body))
                    answer.close()
            finally:
                DjangoInstrumentor().uninstrument()
            return [*told, trace.get_current_span().is_recording()]

        both(run)

    holds()


def aiohttp_app():
    """An application with routes, a sub-application, streams and errors."""

    async def item(request):
        return web.Response(text=f"{request.match_info['number']} {len(await request.read())}")

    async def boom(_request):
        raise ValueError("in the handler")

    async def refused(_request):
        raise web.HTTPForbidden

    async def stream(request):
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in _chunks(request.match_info["kind"]):
            await response.write(chunk)
        return response

    async def status(request):
        return web.Response(text="odd", status=int(request.match_info["code"]))

    app, inner = web.Application(), web.Application()
    app.router.add_route("*", r"/items/{number:\d+}", item)
    app.router.add_get("/boom", boom)
    app.router.add_get("/refused", refused)
    app.router.add_get("/stream/{kind}", stream)
    app.router.add_get("/status/{code}", status)
    app.router.add_get("/healthz", refused)
    inner.router.add_get(r"/things/{number}", item)
    inner.router.add_get("/boom", boom)
    app.add_subapp("/inner", inner)
    return app


async def aiohttp_answers(requests):
    """What the client of each request gets."""
    told = []
    async with TestClient(TestServer(aiohttp_app())) as client:
        for each in requests:
            headers = {"Host": "h:80", "User-Agent": "none", **each.headers}
            try:
                async with client.request(each.method, each.target, headers=headers, data=each.body) as answer:
                    told.append((answer.status, await answer.read()))
            except Exception as error:
                told.append(type(error))
    return told


@pytest.mark.proves("aiohttp_server.request")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:aiohttp")
def test_aiohttp(both, mode, monkeypatch, with_aiohttp):
    """Also streams that break off, and a sub-application."""
    del mode
    monkeypatch.setenv("OTEL_PYTHON_AIOHTTP_SERVER_EXCLUDED_URLS", "healthz")

    @FEW
    @given(requests=REQUESTS)
    def holds(requests):
        both(lambda telemetry: with_aiohttp(telemetry, aiohttp_answers(requests)))

    holds()
