"""What the hooks of `opentelemetry-instrumentation-kafka-python` call and find, in whose place this package's stand."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.messaging.stock_messages import StockMessages
from otel_fastpath.patching.sources.known import Known

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.kafka"
_UTILS: Final = f"{MODULE}.utils"
FACTORIES: Final = ("_wrap_send", "_wrap_next")
CALLED: Final = (
    *(
        f"{_UTILS}:KafkaPropertiesExtractor.{name}"
        for name in (
            "_extract_argument",
            "extract_bootstrap_servers",
            "extract_send_headers",
            "extract_send_partition",
            "extract_send_topic",
        )
    ),
    *(f"{_UTILS}:{name}" for name in ("KafkaContextGetter.get", "KafkaContextSetter.set")),
    *(f"{_UTILS}:{name}" for name in ("_create_consumer_span", "_enrich_span", "_get_span_name")),
)
SOURCES: Final = (*(f"{_UTILS}:{name}" for name in FACTORIES), *CALLED)
HOOKED: Final = StockMessages(
    CALLED, (f"{_UTILS}:_kafka_getter", f"{_UTILS}:_kafka_setter", f"{_UTILS}:json", "json:dumps")
)
