"""The patches of `opentelemetry.instrumentation.django`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.http.instrumenting import forget_plans
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.http.stock_sources import imported, requires, sources
from otel_fastpath.patching.patch import Patch, SkipError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.django.middleware.otel_middleware"
_WSGI: Final = "opentelemetry.instrumentation.wsgi"
# The four methods share what they know of a request: one without the others would lose it.
_METHODS: Final = ("process_request", "process_view", "process_exception", "process_response")


def _hooks() -> Any:
    try:
        return hot.http_django_middleware
    except ImportError as error:
        raise SkipError(f"Django cannot be used here: {error}") from error


def _make_process_request(original: Any, _settings: Config) -> Any:
    handle = _hooks().process_request

    @functools.wraps(original)
    def process_request(self: Any, request: Any) -> Any:
        return handle(original, self, request)

    return process_request


def _make_process_view(original: Any, _settings: Config) -> Any:
    handle = _hooks().process_view

    @functools.wraps(original)
    def process_view(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        return handle(original, self, request, *args, **kwargs)

    return process_view


def _make_process_exception(original: Any, _settings: Config) -> Any:
    handle = _hooks().process_exception

    @functools.wraps(original)
    def process_exception(self: Any, request: Any, exception: Any) -> Any:
        return handle(original, self, request, exception)

    return process_exception


def _make_process_response(original: Any, _settings: Config) -> Any:
    handle = _hooks().process_response

    @functools.wraps(original)
    def process_response(self: Any, request: Any, response: Any) -> Any:
        return handle(original, self, request, response)

    return process_response


_SOURCES: Final = (
    sources(
        *(f"{_MODULE}:_DjangoMiddleware.{name}" for name in _METHODS),
        f"{_MODULE}:_DjangoMiddleware._get_span_name",
    )
    | imported(_MODULE, "sanitize_method")
    | imported(_WSGI, "redact_url", "sanitize_method")
)


def _patch(name: str, make: Callable[[Any, Config], Any], why: str) -> Patch:
    return Patch(
        name=f"django.{name}",
        target=f"{_MODULE}:_DjangoMiddleware.{name}",
        why=why,
        make=make,
        undo=forget_plans,
        requires=requires("django"),
        sources=_SOURCES,
        stock=STOCK[f"django.{name}"],
        needs_gil=False,
        budgets=("Django request",),
    )


_URL: Final = "Makes the URL of the request to see whether it is excluded"
# The later ones are applied first, so that no request is begun here and ended by stock's.
PATCHES: Final = (
    _patch("process_response", _make_process_response, f"{_URL}, and reads four variables of the environment."),
    _patch("process_exception", _make_process_exception, f"{_URL}."),
    _patch("process_view", _make_process_view, f"{_URL}."),
    _patch(
        "process_request",
        _make_process_request,
        "Resolves the path that Django resolves again, and makes all attributes of the request, which it sets twice.",
    ),
)
