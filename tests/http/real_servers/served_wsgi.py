"""The WSGI application, with stock's middleware around it."""

from __future__ import annotations

from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from served import BLOCK, CHUNKS, MANY, TELEMETRY, telemetry


def _generated(chunks, error=None):
    yield from chunks
    if error is not None:
        raise error


def _plain_wsgi(environ, start_response):
    path = environ["PATH_INFO"]
    headers = [("Content-Type", "text/plain")]
    if path == "/ok":
        body = b"" if environ["REQUEST_METHOD"] == "HEAD" else b"fine"
        start_response("200 OK", [*headers, ("Content-Length", str(len(body)))])
        return [body]
    if path == "/echo":
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        start_response("201 Created", [*headers, ("Content-Length", str(len(body)))])
        return [body]
    if path == "/boom":
        raise ValueError("before the response")
    if path not in {"/late", "/stream", "/gone"}:
        start_response("404 Not Found", headers)
        return [b"nothing"]
    start_response("200 OK", headers)
    if path == "/late":
        return _generated(CHUNKS, KeyError("after its start"))
    return _generated(CHUNKS if path == "/stream" else [BLOCK] * MANY)


_instrumented_wsgi = OpenTelemetryMiddleware(_plain_wsgi)


def wsgi(environ, start_response):
    """The WSGI application."""
    if environ["PATH_INFO"] == TELEMETRY:
        body = telemetry()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]
    return _instrumented_wsgi(environ, start_response)
