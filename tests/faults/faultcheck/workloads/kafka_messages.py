"""Messages of Kafka's two clients in Python; no broker is asked."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import aiokafka
import kafka
from confluent_kafka import Message
from opentelemetry import baggage, context, trace
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.instrumentation.kafka import KafkaInstrumentor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from faultcheck.host import Host

_PARENT = ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
_STATE = ("tracestate", b"a=1")
_PLACE = aiokafka.TopicPartition("orders", 1)


class _Client:
    """In the place of aiokafka's own."""

    _bootstrap_servers = ("a:1", "b:2")
    _client_id = "shop"

    async def _wait_on_metadata(self, topic: str) -> None:
        pass


def _record(*headers: Any, key: Any = b"1") -> Any:
    return SimpleNamespace(topic="orders", partition=1, offset=7, key=key, headers=list(headers))


def _client(kind: Any, **fields: Any) -> Any:
    made = kind.__new__(kind)
    own = _Client()
    given = {"config": {"bootstrap_servers": ["a:1"]}, "client": own, "_client": own, "_group_id": "billing"}
    vars(made).update({**given, "_key_serializer": None, "_value_serializer": None, "_closed": True, **fields})
    return made


class _Confluent:
    """In the place of confluent-kafka's producer and consumer."""

    config: ClassVar = {"bootstrap.servers": "a:1,b:2"}
    received: Any = None

    def produce(self, topic: str, **more: Any) -> None:
        if topic == "refused":
            raise BufferError("the library's")
        del more

    def poll(self, *_: Any) -> Any:
        return self.received

    consume = poll


class KafkaMessages(Workload):
    """Messages that are sent and received one by one, and a batch."""

    about = ("otel_fastpath/messaging/", "otel_fastpath/trace/propagation/")

    def prepare(self) -> None:
        """The clients' methods come to this workload, and so do the spans."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.sent: list[list[str]] = []
        self.next: Any = None
        host = self

        def send(_self: Any, topic: str, *_args: Any, headers: Any = None, **_more: Any) -> Any:
            host.sent.append([topic, *(name for name, _ in headers or () if name == "x-tenant")])
            if topic == "refused":
                raise ConnectionError("the broker's")
            return SimpleNamespace(_produce_future=SimpleNamespace(topic_partition=("orders", 1)))

        async def send_soon(_self: Any, *args: Any, **more: Any) -> Any:
            send(None, *args, **more)

        async def get(_self: Any) -> Any:
            return host.next

        kafka.KafkaProducer.send = send
        kafka.KafkaConsumer.__next__ = lambda _self: host.next
        aiokafka.AIOKafkaProducer.send = send_soon
        aiokafka.AIOKafkaProducer._partition = lambda *_: 1
        aiokafka.AIOKafkaConsumer.getone = aiokafka.AIOKafkaConsumer.getmany = get
        for kind in (kafka.KafkaProducer, aiokafka.AIOKafkaProducer, aiokafka.AIOKafkaConsumer):
            kind.__del__ = lambda _self: None

    def begin(self) -> None:
        """Both are instrumented."""
        for kind in (KafkaInstrumentor, AIOKafkaInstrumentor):
            kind().instrument(**self.telemetry.providers())
        self.producer, self.consumer = _client(kafka.KafkaProducer), _client(kafka.KafkaConsumer)
        self.aio_producer, self.aio_consumer = _client(aiokafka.AIOKafkaProducer), _client(aiokafka.AIOKafkaConsumer)

        tracers, instrumentor = self.telemetry.providers()["tracer_provider"], ConfluentKafkaInstrumentor()
        self.confluent = _Confluent()
        self.confluent_producer = instrumentor.instrument_producer(self.confluent, tracers)
        self.confluent_consumer = instrumentor.instrument_consumer(self.confluent, tracers)

    def run(self, host: Host) -> None:
        """Send and receive, twice."""
        for turn in ("first", "again"):
            host.step(f"{turn}: send", self._send, "orders")
            host.step(f"{turn}: send, refused", self._send, "refused")
            host.step(f"{turn}: send with baggage", self._send_with_baggage)
            host.step(f"{turn}: send soon", self._send_soon, "orders")
            host.step(f"{turn}: send soon, refused", self._send_soon, "refused")
            for name, found in {
                "plain": _record(_PARENT),
                "state": _record(_PARENT, _STATE),
                "root": _record(),
            }.items():
                host.step(f"{turn}: receive, {name}", self._receive, found)
                host.step(f"{turn}: receive soon, {name}", self._receive_soon, found, "getone")
            host.step(f"{turn}: receive an odd key", self._receive_soon, _record(key=object), "getone")
            for topic in ("orders", "refused"):
                host.step(f"{turn}: produce, {topic}", self._produce, topic)
            for name, headers in {"plain": [_PARENT], "state": [_PARENT, _STATE], "root": None}.items():
                host.step(f"{turn}: poll, {name}", self._poll, headers)
            host.step(f"{turn}: consume", self._consume)
            batch = {_PLACE: [_record(_PARENT), _record(key=b"\xff")]}
            host.step(f"{turn}: receive many", self._receive_soon, batch, "getmany")

    def _produce(self, topic: str) -> Any:
        return self.confluent_producer.produce(topic, b"{}"), trace.get_current_span().is_recording()

    def _poll(self, headers: Any) -> Any:
        self.confluent.received = Message(topic="orders", partition=1, offset=7, value=b"{}", headers=headers)
        return self._received(self.confluent_consumer.poll)

    def _consume(self) -> Any:
        self.confluent.received = [Message(topic="orders", value=b"{}", headers=[_PARENT])]
        return self._received(self.confluent_consumer.consume)

    def _received(self, receive: Any) -> Any:
        token = context.attach(context.Context())
        try:
            found = receive()
            self.confluent.received = None if receive == self.confluent_consumer.poll else []
            receive()
            return bool(found)
        finally:
            context.detach(token)

    def _send(self, topic: str) -> Any:
        try:
            self.producer.send(topic, b"{}", headers=[("x-tenant", b"shop")])
        finally:
            found = self.sent.pop()
        return found, trace.get_current_span().is_recording()

    def _send_with_baggage(self) -> Any:
        token = context.attach(baggage.set_baggage("user", "ann"))
        try:
            return self._send("orders"), asyncio.run(self._sent_soon("orders"))
        finally:
            context.detach(token)

    def _send_soon(self, topic: str) -> Any:
        return asyncio.run(self._sent_soon(topic)), trace.get_current_span().is_recording()

    async def _sent_soon(self, topic: str) -> Any:
        try:
            await self.aio_producer.send(topic, b"{}", b"1")
        finally:
            found = self.sent.pop()
        return found, trace.get_current_span().is_recording()

    def _receive(self, found: Any) -> Any:
        self.next = found
        return next(self.consumer) is found, trace.get_current_span().is_recording()

    def _receive_soon(self, found: Any, method: str) -> Any:
        self.next = found
        got = asyncio.run(getattr(self.aio_consumer, method)())
        return got is found, trace.get_current_span().is_recording()
