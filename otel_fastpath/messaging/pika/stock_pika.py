"""What the hooks of `opentelemetry-instrumentation-pika` call and find, in whose place this package's stand."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_fastpath.messaging.stock_messages import StockMessages
from otel_fastpath.patching.sources.known import Known

# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
MODULE: Final = "opentelemetry.instrumentation.pika.utils"
PUBLISH: Final = f"{MODULE}:_decorate_basic_publish"
CALLBACK: Final = f"{MODULE}:_decorate_callback"
NEXT: Final = f"{MODULE}:ReadyMessagesDequeProxy.popleft"
CALLED: Final = tuple(
    f"{MODULE}:{name}" for name in ("_enrich_span", "_generate_span_name", "_get_span", "_PikaGetter.get")
)
HOOKED: Final = StockMessages(
    (*CALLED, f"{MODULE}:is_instrumentation_enabled"),
    tuple(f"{MODULE}:{name}" for name in ("_pika_getter", "_ConsumerDeliveryEvt")),
)
