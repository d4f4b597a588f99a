"""The hooks of `opentelemetry-instrumentation-confluent-kafka`, which its producers and consumers call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.compiled import hot
from otel_fastpath.messaging.confluent_kafka import stock_confluent as stock
from otel_fastpath.messaging.stock_messages import closures_patch

if TYPE_CHECKING:
    from otel_fastpath.patching.patch import Patch


def _patch(name: str, why: str, *budgets: str) -> Patch:
    return closures_patch(
        f"confluent_kafka.{name}",
        stock.HOOKS[name],
        why,
        stock.KNOWN,
        stock.HOOKED,
        stock.SOURCES,
        None,
        lambda: hot.messaging_confluent_kafka_confluent_hooks,
        budgets,
    )


PATCHES: Final = (
    _patch(
        "produce",
        "Six attributes are set one by one, the first server is read from the settings, and two propagators write; "
        "here, the attributes are set in one go, and the header is written at once.",
        "confluent-kafka, send",
    ),
    _patch(
        "poll",
        "Two spans, eight attributes one by one, and two propagators that read; here, each is done in one go.",
        "confluent-kafka, receive",
    ),
    _patch("consume", "Likewise, for each message of a list.", "confluent-kafka, receive 10"),
)
