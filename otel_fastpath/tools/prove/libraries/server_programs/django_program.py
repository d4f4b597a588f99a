"""Applications of Django."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path, resolve
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.django.middleware.otel_middleware import _DjangoMiddleware

from otel_fastpath.tools.prove.libraries.modes import excluded, hooks, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.asgi_program import call_asgi
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ALWAYS_SERVED,
    PATHS,
    call_wsgi,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)
    django.setup()


_RECORDED: Final = ["path_info", "content_type"]
_PATHS: Final = (*PATHS, "/")


def _view(request: Any, **_arguments: Any) -> HttpResponse:
    return HttpResponse(b"item", status=status_of(request.path), headers={"X-Answer": "yes"})


_PATTERNS: Final = (
    path("items/<str:number>", _view, name="item"),
    path("status/<int:code>", _view),
    path("health", _view),
    path("boom", _view),
)
_URLS: Final = ((*_PATTERNS, path("", _view, name="home")), (*_PATTERNS, path("", _view)))


def find_route(get_response: Any) -> Any:
    """A middleware that finds the route of a request before the instrumentation's is called."""

    def respond(request: Any) -> Any:
        if request.path == "/health":
            request.resolver_match = resolve(request.path)
        return get_response(request)

    return respond


def _in_peace(handler: Any) -> Any:
    """The handler as an application of ASGI whose client waits for the answer."""

    async def serve_one(scope: Any, receive: Any, send: Any) -> None:
        given = [await receive()]

        async def receive_once() -> Any:
            return given.pop() if given else await asyncio.Event().wait()

        await handler(scope, receive_once, send)

    return serve_one


def run_django(run: ProgramRun) -> None:
    """An application that answers 500 if a view raises, of WSGI or ASGI."""
    telemetry = run.telemetry()
    instrumentor = DjangoInstrumentor()
    # Read from the environment, once.
    read: Any = {"_traced_request_attrs": _RECORDED[: run.seed % 3], "_excluded_urls": _DjangoMiddleware._excluded_urls}
    urls, before = _URLS[run.seed % 2], [f"{__name__}.find_route"]
    with override_settings(ROOT_URLCONF=urls, MIDDLEWARE=before), mock.patch.multiple(_DjangoMiddleware, **read):
        with in_mode(run), setting_up(telemetry):
            given = providers(telemetry) | hooks(run, ("request_hook", "response_hook"), may_fail=True) | excluded(run)
            instrumentor.instrument(**given, middleware_position=run.seed % 2)
        try:
            is_async = run.seed % 4 > 1
            app: Any = _in_peace(ASGIHandler()) if is_async else WSGIHandler()
            call: Any = call_asgi if is_async else call_wsgi
            serve(run, telemetry, lambda request: call(app, request), _PATHS)
        finally:
            with setting_up(telemetry):
                instrumentor.uninstrument()
        run.attempt(lambda: call(_in_peace(ASGIHandler()) if is_async else WSGIHandler(), ALWAYS_SERVED))


PROGRAM: Final = run_django
