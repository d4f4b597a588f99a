"""The hooks of `opentelemetry-instrumentation-kafka-python`, which stand around methods of kafka-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.messaging.kafka_python import stock_kafka as stock
from otel_fastpath.messaging.stock_messages import hooks_patch
from otel_fastpath.wrapping.stock_hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Callable


def _bind(factory: str) -> Callable[[Any], Any]:
    module = hot.messaging_kafka_python_kafka_hooks
    return module.bind_send if factory == "_wrap_send" else module.bind_next


HOOKS: Final = Hooks(
    f"{stock.MODULE}.utils",
    {"kafka:KafkaProducer.send": "_wrap_send", "kafka:KafkaConsumer.__next__": "_wrap_next"},
    _bind,
)
PATCHES: Final = (
    hooks_patch(
        "kafka_python",
        f"{stock.MODULE}:KafkaInstrumentor",
        "A message costs 250,000 to 280,000 instructions: two propagators that each look through its headers, four "
        "attributes one by one, JSON; here, its headers are read once, and the attributes are set in one go.",
        stock.KNOWN,
        stock.HOOKED,
        stock.SOURCES,
        HOOKS,
        lambda: hot.messaging_kafka_python_kafka_hooks.are_known,
        ("kafka-python, send", "kafka-python, receive"),
    ),
)
