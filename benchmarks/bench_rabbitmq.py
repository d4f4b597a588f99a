"""Messages that RabbitMQ's clients send and receive: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_rabbitmq.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'pika*'

The set-ups are `stock`, `pure` and `compiled`. In the place of what sends and receives in the clients stand methods
that return at once.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aio_pika
import pika
from bench_span import batching
from opentelemetry.instrumentation.aio_pika import AioPikaInstrumentor
from opentelemetry.instrumentation.pika import PikaInstrumentor
from pika.adapters.blocking_connection import (
    BlockingChannel,
    BlockingConnection,
    _ConsumerDeliveryEvt,
    _QueueConsumerGeneratorInfo,
)
from setups import ways
from yarl import URL

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_HOST = "rabbitmq.shop"
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def _made(kind: Any, **fields: Any) -> Any:
    """An object without connections."""
    made = kind.__new__(kind)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _properties(headers: Any) -> Any:
    return pika.BasicProperties(message_id="order-4711", correlation_id="cart-12", headers=headers)


def _publish(_exchange: Any, _routing_key: Any, _body: Any, _properties: Any = None, _mandatory: Any = False) -> None:
    """In the place of `basic_publish`."""


def _work(_channel: Any, _method: Any, _properties: Any, _body: Any) -> None:
    """The application's callback."""


async def _publish_soon(_self: Any, _message: Any, _routing_key: Any, **_more: Any) -> None:
    """In the place of aio-pika's `publish`."""


async def _consume(_self: Any, callback: Any) -> Any:
    """In the place of `Queue.consume`."""
    return callback


async def _work_soon(_message: Any) -> None:
    """The application's callback for aio-pika."""


def _incoming() -> Any:
    """A message of aio-pika's that is received."""
    made = _made(aio_pika.IncomingMessage)
    aio_pika.Message.__init__(
        made,
        b"{}",
        headers={"x-tenant": "shop", "traceparent": _PARENT},
        message_id="order-4711",
        correlation_id="cart-12",
    )
    made.exchange, made.routing_key = "orders", "new"
    return made


def _done(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What it returns, without a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits")


class Given:
    """The objects that the callables of this file use."""

    def __init__(self) -> None:
        self.spans = batching()
        impl = SimpleNamespace(params=pika.ConnectionParameters(_HOST))
        consumer = SimpleNamespace(on_message_callback=_work)
        self.channel = _made(
            BlockingChannel,
            _connection=_made(BlockingConnection, _impl=impl),
            _consumer_infos={"tag": consumer},
            basic_publish=_publish,
        )
        PikaInstrumentor().instrument(tracer_provider=self.spans)
        PikaInstrumentor.instrument_channel(self.channel, tracer_provider=self.spans)
        self.publish, self.callback = self.channel.basic_publish, consumer.on_message_callback
        self.method = pika.spec.Basic.Deliver("tag", 1, exchange="orders", routing_key="new")
        self.properties = _properties({"x-tenant": "shop", "traceparent": _PARENT})
        self.event = _ConsumerDeliveryEvt(self.method, self.properties, b"{}")
        self.pending = _QueueConsumerGeneratorInfo((), "tag").pending_events
        self.plain = self.pending.__wrapped__
        aio_pika.Exchange.publish = _publish_soon  # type: ignore[method-assign]
        aio_pika.Queue.consume = _consume  # type: ignore[method-assign]
        AioPikaInstrumentor().instrument(tracer_provider=self.spans)
        connection = _made(aio_pika.Connection, url=URL(f"amqp://shop:secret@{_HOST}/"))
        channel = _made(aio_pika.Channel, _connection=connection)
        self.exchange = _made(aio_pika.Exchange, name="orders", channel=channel)
        self.aio_callback = _done(_made(aio_pika.Queue, channel=channel).consume(_work_soon))
        self.incoming = _incoming()


stock, pure, compiled = ways(Given)


def _pair(name: str, use: Callable[[Given, bool], object]) -> tuple[Callable[[Given], None], Callable[[Given], None]]:
    """The call without the instrumentation, and with it: how the method is found is not counted."""

    def bare(given: Given) -> None:
        use(given, True)  # noqa: FBT003  # whether it is bare

    def instrumented(given: Given) -> None:
        use(given, False)  # noqa: FBT003  # likewise

    # The table finds them by these names.
    bare.__name__, instrumented.__name__ = f"{name}_bare", name
    return bare, instrumented


def _send(given: Given, is_bare: bool) -> None:
    publish = _publish if is_bare else given.publish
    publish("orders", "new", b"{}", _properties({"x-tenant": "shop"}))


def _receive(given: Given, is_bare: bool) -> None:
    callback = _work if is_bare else given.callback
    callback(given.channel, given.method, given.properties, b"{}")


def _next(given: Given, is_bare: bool) -> None:
    given.plain.append(given.event)
    pending = given.plain if is_bare else given.pending
    pending.popleft()


def _send_soon(given: Given, is_bare: bool) -> None:
    message = aio_pika.Message(b"{}", headers={"x-tenant": "shop"}, message_id="order-4711", correlation_id="cart-12")
    if is_bare:
        _done(_publish_soon(given.exchange, message, "new"))
    else:
        _done(given.exchange.publish(message, "new"))


def _receive_soon(given: Given, is_bare: bool) -> None:
    _done((_work_soon if is_bare else given.aio_callback)(given.incoming))


send_bare, send = _pair("send", _send)
receive_bare, receive = _pair("receive", _receive)
receive_next_bare, receive_next = _pair("receive_next", _next)
aio_send_bare, aio_send = _pair("aio_send", _send_soon)
aio_receive_bare, aio_receive = _pair("aio_receive", _receive_soon)

# Row of the table -> bare and instrumented.
ROWS = {
    "pika, send": (send_bare, send),
    "pika, receive": (receive_bare, receive),
    "pika, receive the next": (receive_next_bare, receive_next),
    "aio-pika, send": (aio_send_bare, aio_send),
    "aio-pika, receive": (aio_receive_bare, aio_receive),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Messages of RabbitMQ", "bench_rabbitmq", ROWS, ("stock", "pure", "compiled")))
