"""The hooks of `opentelemetry-instrumentation-aio-pika`, around a method of aio-pika and the callbacks of consumers."""

from __future__ import annotations

from typing import Final

from otel_fastpath.compiled import hot
from otel_fastpath.messaging.aio_pika import stock_aio_pika as stock
from otel_fastpath.messaging.stock_messages import closures_patch, hooks_patch
from otel_fastpath.wrapping.closures import Closures
from otel_fastpath.wrapping.stock_hooks import Hooks

CALLBACKS: Final = Closures("decorated")
HOOKS: Final = Hooks(
    stock.MODULE,
    {"aio_pika:Exchange.publish": stock.FACTORY},
    lambda _factory: hot.messaging_aio_pika_aio_pika_hooks.bind_publish,
)
PATCHES: Final = (
    hooks_patch(
        "aio_pika",
        f"{stock.MODULE}:AioPikaInstrumentor",
        "A message that is sent costs 280,000 instructions: its properties are made twice, and each time a decorator, "
        "a function and a builder of spans; here, the message's own fields are read.",
        stock.KNOWN,
        stock.HOOKED,
        stock.SOURCES,
        HOOKS,
        lambda: hot.messaging_aio_pika_aio_pika_hooks.are_known,
        ("aio-pika, send",),
    ),
    closures_patch(
        "aio_pika.callback",
        stock.CALLBACK,
        "A message that is received costs 290,000 instructions: its properties are made, and a builder of spans; here, "
        "the message's own fields are read.",
        stock.KNOWN,
        stock.HOOKED,
        stock.SOURCES,
        CALLBACKS,
        lambda: hot.messaging_aio_pika_aio_pika_hooks,
        ("aio-pika, receive",),
    ),
)
