"""The functions of stock's DB-API instrumentation that the patches of it rest on."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.stock import Reached

TRACER: Final = "opentelemetry.instrumentation.dbapi:CursorTracer"
STOCK: Final = Reached([f"{TRACER}.traced_execution"])
