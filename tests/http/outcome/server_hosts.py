"""Applications of each HTTP server library: bare, or with the stock instrumentation."""

from __future__ import annotations

import asyncio
from wsgiref.util import setup_testing_defaults

import django
import flask
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path
from fastapi import FastAPI
from hosts import HOOKS, PARENT, PROVIDERS, HostError, Outcomes, only, run
from opentelemetry import metrics
from opentelemetry.instrumentation import aiohttp_server as stock_aiohttp
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware as ASGIMiddleware
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.starlette import StarletteInstrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware as WSGIMiddleware
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

PATHS = ("/items/3", "/items/4", "/boom", "/nowhere")


def scope(target, *headers, **more):
    """A request of ASGI."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "method": "GET",
        "http_version": "1.1",
        "scheme": "http",
        "path": target,
        "root_path": "",
        "query_string": b"a=1",
        "headers": [(b"host", b"h:8000"), *headers],
        "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8000),
        **more,
    }


def environ(target, **more):
    """A request of WSGI."""
    made = {"PATH_INFO": target, "QUERY_STRING": "a=1"}
    setup_testing_defaults(made)
    return {**made, **more}


def _scopes():
    return [scope(target, *headers) for target in PATHS for headers in ((), ((b"traceparent", PARENT.encode()),))]


def _environs():
    return [environ(target, **more) for target in PATHS for more in ({}, {"HTTP_TRACEPARENT": PARENT})]


async def _ask(app, request):
    told, given = [], [{"type": "http.request", "body": b""}]

    async def receive():
        if not given:
            await asyncio.Event().wait()
        return given.pop()

    async def send(message):
        told.append((message["type"], message.get("status"), message.get("body")))

    await app(request, receive, send)
    return told


def _asked(app, requests):
    async def main():
        outcomes = Outcomes()
        for request in requests or _scopes():
            await outcomes.wait(_ask, app, dict(request))
        return outcomes.found

    return run(main)


def _called(app, requests):
    outcomes = Outcomes()

    def call(request):
        told = []
        body = app(request, lambda status, _headers, *_: told.append(status))
        try:
            told.extend(body)
        finally:
            if hasattr(body, "close"):
                body.close()
        return told

    for request in requests or _environs():
        outcomes.call(call, dict(request))
    return outcomes.found


def asgi(given, requests=()):
    """An application of ASGI."""

    async def app(request, receive, send):
        await receive()
        if request["path"] == "/boom":
            raise HostError
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    return _asked(ASGIMiddleware(app, **only(given, *PROVIDERS, *HOOKS)) if given else app, requests)


def _with_routes(app):
    async def item(request):
        return PlainTextResponse(request.path_params["number"])

    async def boom(_request):
        raise HostError

    app.router.routes += [Route("/items/{number}", item), Route("/boom", boom)]
    return app


def starlette(given, requests=()):
    """An application of Starlette."""
    app = _with_routes(Starlette())
    if given:
        StarletteInstrumentor.instrument_app(app, **only(given, *PROVIDERS, *HOOKS))
    return _asked(app, requests)


def fastapi(given, requests=()):
    """An application of FastAPI."""
    app = _with_routes(FastAPI(openapi_url=None))
    if given:
        FastAPIInstrumentor.instrument_app(app, **only(given, *PROVIDERS, *HOOKS))
    return _asked(app, requests)


def fastapis_own(given, requests=()):
    """An application of FastAPI with its own telemetry."""
    nothing = dict.fromkeys(("tracing", "metrics", "logs"), False)
    app = FastAPI(openapi_url=None, telemetry=only(given, *PROVIDERS, "logger_provider") if given else nothing)

    async def item(number: str):
        return number

    async def boom():
        raise HostError

    item.__annotations__["number"] = str
    app.get("/items/{number}")(item)
    app.get("/boom")(boom)
    return _asked(app, requests)


def wsgi(given, requests=()):
    """An application of WSGI."""

    def app(request, start_response):
        if request["PATH_INFO"] == "/boom":
            raise HostError
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    return _called(WSGIMiddleware(app, **only(given, *PROVIDERS, *HOOKS)) if given else app, requests)


def flask_(given, requests=()):
    """An application of Flask, which raises further what a view raises."""
    app = flask.Flask("host")
    app.testing = True

    @app.route("/items/<number>")
    def item(number):
        return number

    @app.route("/boom")
    def boom():
        raise HostError

    if given:
        FlaskInstrumentor.instrument_app(app, **only(given, *PROVIDERS, *HOOKS))
    return _called(app, requests)


def _item(_request, number):
    return HttpResponse(number)


def _boom(_request):
    raise HostError


urlpatterns = [path("items/<str:number>", _item), path("boom", _boom)]


def django_(given, requests=()):
    """An application of Django, which answers 500 if a view raises."""
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)
        django.setup()
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[]):
        if given:
            DjangoInstrumentor().instrument(**only(given, *PROVIDERS, *HOOKS))
        try:
            return _called(WSGIHandler(), requests)
        finally:
            if given:
                DjangoInstrumentor().uninstrument()


async def _aiohttp_answers(requests):
    async def item(request):
        return web.Response(text=request.match_info["number"])

    async def boom(_request):
        raise HostError

    async def unavailable(_request):
        raise web.HTTPServiceUnavailable

    async def get(client, target, headers):
        async with client.get(target, headers=headers) as answer:
            return answer.status, await answer.text()

    app = web.Application()
    app.router.add_get("/items/{number}", item)
    app.router.add_get("/boom", boom)
    app.router.add_get("/unavailable", unavailable)
    outcomes = Outcomes()
    async with TestClient(TestServer(app)) as client:
        for target, headers in requests:
            await outcomes.wait(get, client, target, headers)
    return outcomes.found


def aiohttp_server(given, requests=()):
    """An application of aiohttp.web on a loopback port."""
    usual = [(target, headers) for target in (*PATHS, "/unavailable") for headers in ({}, {"traceparent": PARENT})]
    if not given:
        return run(lambda: _aiohttp_answers(requests or usual))
    meters = given.get("meter_provider") or metrics.NoOpMeterProvider()
    with pytest.MonkeyPatch.context() as patched:
        # The instrumentation takes the global provider.
        patched.setattr(metrics, "get_meter", lambda name, *_args, **_more: meters.get_meter(name))
        for name in ("duration_histogram_old", "duration_histogram_new", "meter_old", "meter_new"):
            patched.setattr(stock_aiohttp, name, None)
        stock_aiohttp.AioHttpServerInstrumentor().instrument(**only(given, "tracer_provider"))
        try:
            return run(lambda: _aiohttp_answers(requests or usual))
        finally:
            stock_aiohttp.AioHttpServerInstrumentor().uninstrument()


ASGI = {"asgi": asgi, "starlette": starlette, "fastapi": fastapi, "FastAPI's own": fastapis_own}
WSGI = {"wsgi": wsgi, "flask": flask_, "django": django_}
SERVERS = {**ASGI, **WSGI, "aiohttp.web": aiohttp_server}
