"""What is kept on middlewares, applications and transports: it is not copied with them, and forgotten at the end."""

from __future__ import annotations

import asyncio
import copy
from wsgiref.util import setup_testing_defaults

import httpx
import pytest
from asgicheck import BODY, START, application, receive_empty, scope, send_nowhere
from newer_releases import needs, older
from opentelemetry.instrumentation import httpx as stock_httpx
from opentelemetry.instrumentation import starlette
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware as AsgiMiddleware
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware as WsgiMiddleware
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from starlette.applications import Starlette
from starlette.routing import Route


def _answer(_request):
    """An endpoint."""


def _asgi():
    def serve(middleware):
        asyncio.run(middleware(scope(), receive_empty, send_nowhere))

    return AsgiMiddleware(application((START, BODY)), tracer_provider=TracerProvider(shutdown_on_exit=False)), serve


def _wsgi():
    def app(_environ, start_response):
        start_response("200 OK", [])
        return [b""]

    def serve(middleware):
        environ = {}
        setup_testing_defaults(environ)
        assert list(middleware(environ, lambda *_: None)) == [b""]

    return WsgiMiddleware(app), serve


def _fastapi():
    from fastapi.telemetry import _asgi

    app = application((START, BODY))
    defaults = {"tracer_provider": None, "meter_provider": None, "logger_provider": None}
    config = {**defaults, "tracing": True, "metrics": True, "logs": True, "operation_spans": True, "exclude": None}

    def serve(own):
        own.config = {**config, "meter_provider": meters}
        asyncio.run(own(app=app, scope=scope(), receive=receive_empty, send=send_nowhere))

    meters = MeterProvider(shutdown_on_exit=False)
    return _asgi.NativeTelemetry(config), serve


def _starlette():
    def serve(app):
        assert starlette._get_route_details({**scope(path="/items"), "app": app}) == "/items"

    return Starlette(routes=[Route("/items", _answer)]), serve


def _transport():
    def serve(transport):
        assert transport.handle_request(httpx.Request("GET", "http://h/a")).status_code == 200

    return stock_httpx.SyncOpenTelemetryTransport(httpx.MockTransport(lambda _: httpx.Response(200))), serve


MADE = [
    _asgi,
    _wsgi,
    pytest.param(_fastapi, marks=pytest.mark.skipif(older("fastapi", "0.142.4"), reason="it has no telemetry")),
    _starlette,
    pytest.param(_transport, marks=needs("opentelemetry-instrumentation-httpx", "0.65b0", "the first with hooks")),
]


def _kept(subject):
    return {name: value for name, value in vars(subject).items() if name.startswith("_otel_fastpath")}


@pytest.mark.parametrize("make", MADE)
def test_a_plan_is_its_objects_own_until_the_end(instrumentor, core, no_faults, make):
    """A copy makes its own at its first request; with `deepcopy`, none is copied; `uninstrument` removes all."""
    subject, serve = make()
    instrumentor.instrument(core=core)
    serve(subject)
    [(name, plan)] = _kept(subject).items()
    serve(subject)
    assert vars(subject)[name] is plan
    assert copy.deepcopy(plan) is None

    other = copy.copy(subject)
    serve(other)
    assert vars(other)[name] is not plan
    assert vars(subject)[name] is plan

    instrumentor.uninstrument()
    assert _kept(subject) == _kept(other) == {}
    serve(subject)
    assert _kept(subject) == {}
    assert no_faults.counts() == {}
