"""What the hooks of `opentelemetry-instrumentation-confluent-kafka` call and find, and the replacements do not call."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.messaging.stock_messages import StockMessages
from otel_fastpath.patching.sources.known import Known

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.confluent_kafka"
_UTILS: Final = f"{MODULE}.utils"
HOOKS: Final = {name: f"{MODULE}:ConfluentKafkaInstrumentor.wrap_{name}" for name in ("produce", "poll", "consume")}
CALLED: Final = (
    *(
        f"{_UTILS}:KafkaPropertiesExtractor.{name}"
        for name in (
            "_extract_argument",
            "extract_bootstrap_servers",
            "extract_produce_headers",
            "extract_produce_topic",
        )
    ),
    *(f"{_UTILS}:{name}" for name in ("KafkaContextGetter.get", "KafkaContextSetter.set")),
    *(
        f"{_UTILS}:{name}"
        for name in (
            "_create_new_consume_span",
            "_enrich_span",
            "_get_links_from_records",
            "_get_span_name",
            "_set_bootstrap_servers_attributes",
        )
    ),
)
SOURCES: Final = (*HOOKS.values(), *CALLED)
# What the hooks' own module has imported by name.
_IMPORTED: Final = ("_create_new_consume_span", "_enrich_span", "_get_span_name")
HOOKED: Final = StockMessages(
    (*CALLED, *(f"{MODULE}:{name}" for name in _IMPORTED)),
    (
        f"{_UTILS}:_kafka_getter",
        f"{_UTILS}:_kafka_setter",
        f"{_UTILS}:Link",
        f"{MODULE}:_kafka_setter",
        f"{MODULE}:KafkaPropertiesExtractor",
    ),
)
