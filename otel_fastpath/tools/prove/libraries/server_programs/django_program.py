"""Applications of Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.django.middleware.otel_middleware import _DjangoMiddleware

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import call_wsgi, serve, status_of

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

if not settings.configured:
    settings.configure(ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)
    django.setup()


_RECORDED: Final = ["path_info", "content_type"]


def _view(request: Any, **_arguments: Any) -> HttpResponse:
    return HttpResponse(b"item", status=status_of(request.path), headers={"X-Answer": "yes"})


urlpatterns = [
    path("items/<str:number>", _view, name="item"),
    path("status/<int:code>", _view),
    path("health", _view),
    path("boom", _view),
]


def run_django(run: ProgramRun) -> None:
    """An application that answers 500 if a view raises."""
    telemetry = run.telemetry()
    instrumentor = DjangoInstrumentor()
    # Read from the environment, once.
    recorded = mock.patch.object(_DjangoMiddleware, "_traced_request_attrs", _RECORDED[: run.seed % 3])
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[]), recorded:
        with in_mode(run):
            instrumentor.instrument(**providers(telemetry), **hooks(run, ("request_hook", "response_hook")))
        try:
            handler = WSGIHandler()
            serve(run, telemetry, lambda request: call_wsgi(handler, request))
        finally:
            instrumentor.uninstrument()


PROGRAM: Final = run_django
