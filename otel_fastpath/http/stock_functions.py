"""The functions of stock in whose place each patch of HTTP stands, or whose results it keeps: see `patching.stock`.

The functions are read from the code of the patched one; here are that, and the methods, which cannot be read from it.
"""

from __future__ import annotations

import functools
from typing import Final

from otel_fastpath.http.stock_sources import EXCLUDING, KNOWN, SANITIZING, sources
from otel_fastpath.patching.stock import Stock

_INSTRUMENTATION: Final = "opentelemetry.instrumentation"
_AIOHTTP: Final = f"{_INSTRUMENTATION}.aiohttp_server"
_ASGI: Final = f"{_INSTRUMENTATION}.asgi"
_DJANGO: Final = f"{_INSTRUMENTATION}.django.middleware.otel_middleware"
_MIDDLEWARE: Final = f"{_DJANGO}:_DjangoMiddleware"
_FASTAPI: Final = "fastapi.telemetry._asgi:NativeTelemetry"
_FLASK: Final = f"{_INSTRUMENTATION}.flask"
_WSGI: Final = f"{_INSTRUMENTATION}.wsgi"
_GETTER: Final = f"{_WSGI}:WSGIGetter.get"


def _collecting(module: str, prefix: str = "") -> Stock:
    """What collects the attributes of a request. They are made once for each kind of request, or else by calling it.

    Args:
        module: The module that calls the function.
        prefix: What it is imported with, before its name.
    """
    name = "collect_request_attributes"
    defined = f"{_WSGI if prefix else module}:{name}"
    return Stock(None, KNOWN, {f"{module}:{prefix}{name}": sources(defined)[defined]})


@functools.cache
def client_stock(target: str) -> Stock:
    """What a function of a client's instrumentation calls."""
    return Stock(target, KNOWN, sources(*EXCLUDING))


# Those of servers, by the name of the patch.
COLLECTING: Final = {
    "asgi": _collecting(_ASGI),
    "wsgi": _collecting(_WSGI),
    "flask": _collecting(_WSGI),
    "django": _collecting(_DJANGO, "wsgi_"),
    "aiohttp_server": _collecting(_AIOHTTP),
}
_SERVERS: Final = {
    "asgi.request": (
        f"{_ASGI}:OpenTelemetryMiddleware.__call__",
        *(f"{_ASGI}:OpenTelemetryMiddleware.{name}" for name in ("__init__", "_get_otel_receive", "_get_otel_send")),
        *(f"{_ASGI}:OpenTelemetryMiddleware.{name}" for name in ("_set_send_span", "_set_server_span")),
        f"{_ASGI}:ASGIGetter.get",
        # The set-up names it.
        f"{_ASGI}:get_default_span_details",
    ),
    "wsgi.request": (
        f"{_WSGI}:OpenTelemetryMiddleware.__call__",
        *(f"{_WSGI}:OpenTelemetryMiddleware.{name}" for name in ("__init__", "_create_start_response")),
        _GETTER,
    ),
    "flask.request": (f"{_FLASK}:_rewrapped_app",),
    "flask.before_request": (f"{_FLASK}:_wrapped_before_request", _GETTER),
    "flask.teardown_request": (f"{_FLASK}:_wrapped_teardown_request",),
    **{
        f"django.{name}": (
            f"{_DJANGO}:_DjangoMiddleware.{name}",
            f"{_DJANGO}:_DjangoMiddleware._get_span_name",
            _GETTER,
        )
        for name in ("process_request", "process_view", "process_exception", "process_response")
    },
    "aiohttp_server.request": (f"{_AIOHTTP}:create_aiohttp_middleware", f"{_AIOHTTP}:AiohttpGetter.get"),
}
STOCK: Final = {
    **{
        name: Stock(
            target, KNOWN, sources(*methods, *EXCLUDING, *SANITIZING), apart=(COLLECTING[name.partition(".")[0]],)
        )
        for name, (target, *methods) in _SERVERS.items()
    },
    "fastapi_own.request": Stock(
        f"{_FASTAPI}.__call__",
        KNOWN,
        sources(f"{_FASTAPI}._instruments", "fastapi.telemetry._asgi:_HeadersGetter.get"),
    ),
}
