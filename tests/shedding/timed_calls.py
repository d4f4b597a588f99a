"""Calls through each HTTP instrumentation while the guard times them, in a process of its own: see `test_http`.

python timed_calls.py CORE
"""

from __future__ import annotations

import asyncio
import http.server
import io
import json
import sys
import threading
import time

import aiohttp
import django
import flask
import httpx
import requests
import urllib3
from aiohttp import web
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.urls import path
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
from opentelemetry.instrumentation.aiohttp_server import AioHttpServerInstrumentor
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor
from otel_fastpath.shedding.timed_hooks import TimedHooks

# As often as `test_http` expects.
CALLS = 5
# What the host takes, in seconds: telemetry's code takes a hundredth of it.
HOST = 0.03


class Server(http.server.BaseHTTPRequestHandler):
    """What the clients call."""

    def do_GET(self):
        """Answer after a while."""
        time.sleep(HOST)
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        """Nothing."""


def application(_environ, start_response):
    """A WSGI application that takes its time in each of its parts."""
    time.sleep(HOST)
    start_response("200 OK", [("content-type", "text/plain")])

    def body():
        time.sleep(HOST)
        yield b"o"
        yield b"k"

    return body()


def view(_request=None):
    """A view of Flask and Django."""
    time.sleep(HOST)
    return HttpResponse("ok") if _request is not None else "ok"


def served(app):
    """A request of a WSGI application, as a server makes it."""
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/items", "SERVER_NAME": "shop", "SERVER_PORT": "80"}
    environ |= {"wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), "SERVER_PROTOCOL": "HTTP/1.1", "SCRIPT_NAME": ""}

    def start_response(*_):
        time.sleep(HOST)

    body = app(environ, start_response)
    try:
        return b"".join(body)
    finally:
        if hasattr(body, "close"):
            body.close()


async def asynchronous(url):
    """A request of aiohttp.web, httpx and aiohttp's client each."""

    async def handle(_request):
        await asyncio.sleep(HOST)
        time.sleep(HOST)  # noqa: ASYNC251  # the host's, which blocks its loop
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_get("/items", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    own = f"http://127.0.0.1:{runner.addresses[0][1]}/items"
    async with aiohttp.ClientSession() as session, httpx.AsyncClient() as client:
        for _ in range(CALLS):
            timed()
            async with session.get(own) as response:
                assert await response.text() == "ok", await response.text()
            timed()
            assert (await client.get(url)).text == "ok"
    await runner.cleanup()


def timed():
    """The next call of each hook is timed."""
    hooks.lay()
    for _, hook in hooks._hooks():
        hook._drawn += 1 - hook._counter.left
        hook._counter.left = 1


class Routes:
    """The routes of the Django application."""

    urlpatterns = (path("items", view),)


core = sys.argv[1]
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
settings.configure(DEBUG=False, ALLOWED_HOSTS=["*"], ROOT_URLCONF=Routes, MIDDLEWARE=[])
for instrumentor in (
    *(AioHttpClientInstrumentor, AioHttpServerInstrumentor, DjangoInstrumentor, FlaskInstrumentor),
    *(HTTPXClientInstrumentor, RequestsInstrumentor, URLLib3Instrumentor),
):
    instrumentor().instrument(tracer_provider=provider)
FastpathInstrumentor().instrument(core=core)
django.setup()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/items"
flask_app = flask.Flask("shop")
flask_app.add_url_rule("/items", view_func=view)
wsgi_app = OpenTelemetryMiddleware(application, tracer_provider=provider)
django_app = WSGIHandler()
pool = urllib3.PoolManager()
hooks = TimedHooks()
with httpx.Client() as client:
    for _ in range(CALLS):
        for call in (
            lambda: served(wsgi_app),
            lambda: served(flask_app.wsgi_app),
            lambda: served(django_app),
            lambda: requests.get(URL, timeout=20).content,
            lambda: pool.request("GET", URL).data,
            lambda: client.get(URL).content,
        ):
            timed()
            assert call() == b"ok"
asyncio.run(asynchronous(URL))
prices = hooks.prices()
number = len(exporter.get_finished_spans())
hooks.lift()
assert served(flask_app.wsgi_app) == requests.get(URL, timeout=20).content == b"ok"
layers = len(list(hooks._hooks()))
found = {"prices": prices, "spans": number, "after": len(exporter.get_finished_spans()), "layers": layers}
sys.stdout.write(json.dumps(found))
