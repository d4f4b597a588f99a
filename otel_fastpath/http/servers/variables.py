"""Environment variables that stock's HTTP instrumentations read for each request."""

from __future__ import annotations

from typing import Final

from otel_fastpath.settings import VARIABLES, encoded

__all__ = ["REQUEST_HEADERS", "RESPONSE_HEADERS", "VARIABLES", "encoded"]

# Not `opentelemetry.util.http`'s constants: FastAPI's own telemetry does not need that package.
REQUEST_HEADERS: Final = encoded("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST")
RESPONSE_HEADERS: Final = encoded("OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE")
