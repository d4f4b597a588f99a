"""Messages of RabbitMQ's clients in Python; no broker is asked."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aio_pika
import pika
from opentelemetry import baggage, context, trace
from opentelemetry.instrumentation.aio_pika import AioPikaInstrumentor
from opentelemetry.instrumentation.pika import PikaInstrumentor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pika.adapters.blocking_connection import (
    BlockingChannel,
    BlockingConnection,
    _ConsumerDeliveryEvt,
    _QueueConsumerGeneratorInfo,
)
from yarl import URL

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from faultcheck.host import Host

_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_METHOD = pika.spec.Basic.Deliver("tag", 1, exchange="orders", routing_key="new")


def _made(kind: Any, **fields: Any) -> Any:
    made = kind.__new__(kind)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _properties(**headers: Any) -> Any:
    return pika.BasicProperties(headers=headers, message_id="one", correlation_id="two")


class RabbitMessages(Workload):
    """Messages that are sent, received by a callback, and iterated over."""

    about = ("otel_fastpath/messaging/", "otel_fastpath/trace/propagation/", "otel_fastpath/wrapping/closures.py")

    def prepare(self) -> None:
        """The channel's methods come to this workload, and so do the spans."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        impl = SimpleNamespace(params=pika.ConnectionParameters("rabbit"))
        self.consumer = SimpleNamespace(on_message_callback=self._work)
        connection = _made(BlockingConnection, _impl=impl)
        consumers = {"tag": self.consumer}
        self.channel = _made(
            BlockingChannel, _connection=connection, _consumer_infos=consumers, basic_publish=self._sent
        )

        async def publish(_self: Any, message: Any, routing_key: str, **_more: Any) -> Any:
            if routing_key == "refused":
                raise ConnectionError("the broker's")
            return routing_key, "x-tenant" in message.headers

        async def consume(_self: Any, callback: Any) -> Any:
            return callback

        aio_pika.Exchange.publish = publish  # type: ignore[method-assign]
        aio_pika.Queue.consume = consume  # type: ignore[method-assign]

    def begin(self) -> None:
        """It is instrumented."""
        PikaInstrumentor().instrument(**self.telemetry.providers())
        tracers = self.telemetry.providers()["tracer_provider"]
        PikaInstrumentor.instrument_channel(self.channel, tracer_provider=tracers)
        AioPikaInstrumentor().instrument(**self.telemetry.providers())
        connection = _made(aio_pika.Connection, url=URL("amqp://rabbit/"))
        channel = _made(aio_pika.Channel, _connection=connection)
        self.exchange = _made(aio_pika.Exchange, name="orders", channel=channel)
        self.callback = asyncio.run(_made(aio_pika.Queue, channel=channel).consume(self._work_soon))

    def run(self, host: Host) -> None:
        """Send and receive, twice."""
        for turn in ("first", "again"):
            for exchange in ("orders", "refused"):
                host.step(f"{turn}: send, {exchange}", self._send, exchange)
            host.step(f"{turn}: send with baggage", self._send_with_baggage)
            for name, properties in {
                "plain": _properties(traceparent=_PARENT),
                "state": _properties(traceparent=_PARENT, tracestate="a=1"),
                "root": _properties(),
                "odd": pika.BasicProperties(message_id=7),
            }.items():
                host.step(f"{turn}: receive, {name}", self._receive, properties)
                host.step(f"{turn}: take, {name}", self._take, properties)
            for key in ("orders", "refused"):
                host.step(f"{turn}: send soon, {key}", self._send_soon, key)
            for name, headers in {"plain": {"traceparent": _PARENT}, "root": {}, "odd": {"traceparent": 7}}.items():
                host.step(f"{turn}: receive soon, {name}", self._receive_soon, headers)
            host.step(f"{turn}: receive soon, failing", self._receive_soon, {"x-tenant": "none"})
            host.step(f"{turn}: receive, failing", self._receive, _properties(traceparent=_PARENT), b"fail")

    @staticmethod
    def _sent(exchange: str, _key: str, _body: bytes, properties: Any = None, _mandatory: Any = None) -> Any:
        if exchange == "refused":
            raise ConnectionError("the broker's")
        return exchange, "x-tenant" in properties.headers

    @staticmethod
    def _work(_channel: Any, _method: Any, properties: Any, body: bytes) -> Any:
        if body == b"fail":
            raise LookupError("the application's")
        return "x-tenant" in properties.headers

    @staticmethod
    async def _work_soon(message: Any) -> Any:
        if message.headers.get("x-tenant") == "none":
            raise LookupError("the application's")
        return message.message_id

    def _send_soon(self, key: str) -> Any:
        message = aio_pika.Message(b"{}", headers={"x-tenant": "shop"})
        return asyncio.run(self.exchange.publish(message, routing_key=key)), trace.get_current_span().is_recording()

    def _receive_soon(self, headers: Any) -> Any:
        message = _made(aio_pika.IncomingMessage)
        aio_pika.Message.__init__(message, b"{}", headers=headers, message_id="one")
        message.exchange, message.routing_key = "orders", "new"
        return asyncio.run(self.callback(message)), trace.get_current_span().is_recording()

    def _send(self, exchange: str) -> Any:
        sent = self.channel.basic_publish(exchange, "new", b"{}", pika.BasicProperties(headers={"x-tenant": "shop"}))
        return sent, trace.get_current_span().is_recording()

    def _send_with_baggage(self) -> Any:
        token = context.attach(baggage.set_baggage("user", "ann"))
        try:
            return self._send("orders")
        finally:
            context.detach(token)

    def _receive(self, properties: Any, body: bytes = b"{}") -> Any:
        found = self.consumer.on_message_callback(self.channel, _METHOD, properties, body)
        return found, trace.get_current_span().is_recording()

    @staticmethod
    def _take(properties: Any) -> Any:
        pending = _QueueConsumerGeneratorInfo((), "tag").pending_events
        token = context.attach(context.Context())
        try:
            pending.append(_ConsumerDeliveryEvt(_METHOD, properties, b"{}"))
            event = pending.popleft()
            return event.properties is properties, trace.get_current_span().is_recording()
        finally:
            context.detach(token)
