"""The hooks of `opentelemetry-instrumentation-aiokafka`, which stand around methods of aiokafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.messaging.aiokafka import stock_aiokafka as stock
from otel_fastpath.messaging.stock_messages import hooks_patch
from otel_fastpath.wrapping.stock_hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Callable


def _bind(factory: str) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = getattr(hot.messaging_aiokafka_aiokafka_hooks, factory.replace("_wrap", "bind"))
    return found


HOOKS: Final = Hooks(
    f"{stock.MODULE}.utils",
    {
        "aiokafka:AIOKafkaProducer.send": "_wrap_send",
        "aiokafka:AIOKafkaConsumer.getone": "_wrap_getone",
        "aiokafka:AIOKafkaConsumer.getmany": "_wrap_getmany",
    },
    _bind,
)
PATCHES: Final = (
    hooks_patch(
        "aiokafka",
        f"{stock.MODULE}:AIOKafkaInstrumentor",
        "A message costs 330,000 to 450,000 instructions: two propagators that each look through its headers, nine "
        "attributes one by one, JSON; here, its headers are read once, and the attributes are set in one go.",
        stock.KNOWN,
        stock.HOOKED,
        stock.SOURCES,
        HOOKS,
        lambda: hot.messaging_aiokafka_aiokafka_hooks.are_known,
        ("aiokafka, send", "aiokafka, receive", "aiokafka, receive 10"),
    ),
)
