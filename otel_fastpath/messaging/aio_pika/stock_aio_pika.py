"""What the hooks of `opentelemetry-instrumentation-aio-pika` call and find, in whose place this package's stand."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.messaging.stock_messages import StockMessages
from otel_fastpath.patching.sources.known import Known

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
_STOCK: Final = "opentelemetry.instrumentation.aio_pika"
MODULE: Final = f"{_STOCK}.aio_pika_instrumentor"
FACTORY: Final = "AioPikaInstrumentor._instrument_exchange"
CALLBACK: Final = f"{_STOCK}.callback_decorator:CallbackDecorator.decorate"
_BUILDING: Final = ("__init__", "_generate_span_name", "build", "set_as_consumer", "set_as_producer", "set_channel")
_PUBLISHING: Final = ("__init__", "_get_publish_span", "decorate")
CALLED: Final = (
    f"{_STOCK}.callback_decorator:CallbackDecorator._get_span",
    *(f"{_STOCK}.publish_decorator:PublishDecorator.{name}" for name in _PUBLISHING),
    *(
        f"{_STOCK}.span_builder:SpanBuilder.{name}"
        for name in (*_BUILDING, "set_destination", "set_message", "set_operation")
    ),
)
SOURCES: Final = (f"{MODULE}:{FACTORY}", CALLBACK, *CALLED)
HOOKED: Final = StockMessages(
    (
        *CALLED,
        *(f"{_STOCK}.{module}:is_instrumentation_enabled" for module in ("callback_decorator", "span_builder")),
    ),
    (
        f"{MODULE}:PublishDecorator",
        f"{_STOCK}.callback_decorator:SpanBuilder",
        f"{_STOCK}.publish_decorator:SpanBuilder",
        f"{_STOCK}.span_builder:_DEFAULT_ATTRIBUTES",
    ),
)
