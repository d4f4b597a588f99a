"""What the hooks of `opentelemetry-instrumentation-aiokafka` call and find, in whose place this package's stand."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.messaging.stock_messages import StockMessages
from otel_fastpath.patching.sources.known import Known

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.aiokafka"
_UTILS: Final = f"{MODULE}.utils"
FACTORIES: Final = ("_wrap_send", "_wrap_getone", "_wrap_getmany")
CALLED: Final = tuple(
    f"{_UTILS}:{name}"
    for name in (
        "_create_consumer_span",
        "_deserialize_key",
        "_enrich_base_span",
        "_enrich_getmany_poll_span",
        "_enrich_getmany_topic_span",
        "_enrich_getone_span",
        "_enrich_send_span",
        "_extract_argument",
        "_extract_bootstrap_servers",
        "_extract_client_id",
        "_extract_consumer_group",
        "_extract_send_headers",
        "_extract_send_key",
        "_extract_send_partition",
        "_extract_send_topic",
        "_extract_send_value",
        "_get_span_name",
        "_move_headers_to_kwargs",
        "AIOKafkaContextGetter.get",
        "AIOKafkaContextSetter.set",
    )
)
SOURCES: Final = (*(f"{_UTILS}:{name}" for name in FACTORIES), *CALLED)
HOOKED: Final = StockMessages(
    CALLED, (f"{_UTILS}:_aiokafka_getter", f"{_UTILS}:_aiokafka_setter", f"{_UTILS}:json", "json:dumps")
)
