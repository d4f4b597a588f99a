"""A WSGI application under load."""

from __future__ import annotations

import time

from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from watched import BLOCK, TELEMETRY, inner, telemetry, tell


def _plain(environ, start_response):
    path = environ["PATH_INFO"]
    number = environ["HTTP_X_NUMBER"]
    with inner(number):
        time.sleep(0.001)
    if path == "/boom":
        raise ValueError(number)
    headers = [("Content-Type", "text/plain")]
    body = number.encode()
    if path == "/ok":
        headers.append(("Content-Length", str(len(body))))
    start_response("200 OK", headers)
    if path == "/gone":
        return (BLOCK for _ in range(4000))
    return (each for each in (b"", body)) if path == "/stream" else [body]


_instrumented = OpenTelemetryMiddleware(_plain, request_hook=lambda span, environ: tell(span, environ["HTTP_X_NUMBER"]))


def wsgi(environ, start_response):
    """The application."""
    if environ["PATH_INFO"] == TELEMETRY:
        body = telemetry()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]
    return _instrumented(environ, start_response)
