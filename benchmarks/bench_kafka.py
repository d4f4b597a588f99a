"""Messages that Kafka's clients send and receive: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_kafka.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'kafka*'

The set-ups are `stock`, `pure` and `compiled`. In the place of what sends and receives in the clients stand methods
that return at once, and coroutines run without a loop.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiokafka
import confluent_kafka
import kafka
from bench_span import batching
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.instrumentation.kafka import KafkaInstrumentor
from setups import ways

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_SERVERS = ["broker-1.shop:9092", "broker-2.shop:9092"]
_HEADERS = (("x-tenant", b"shop"), ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
_FUTURE = SimpleNamespace(_produce_future=SimpleNamespace(topic_partition=("orders", 1)))
_BATCH = 10


class Sending:
    """In the place of the methods of producers."""

    config: Any
    client: Any
    _key_serializer = _value_serializer = None

    def send(self, *_args: Any, **_more: Any) -> Any:
        """Send a message of kafka-python's."""
        return _FUTURE

    async def send_soon(self, *_args: Any, **_more: Any) -> Any:
        """Send a message of aiokafka's."""

    def _partition(self, *_: Any) -> int:
        return 1


class Receiving:
    """In the place of the methods of consumers."""

    config: Any
    record: Any
    records: Any
    _client: Any
    _group_id = "billing"

    def __next__(self) -> Any:  # noqa: D105
        return self.record

    async def getone(self, *_partitions: Any) -> Any:
        """Receive one."""
        return self.record

    async def getmany(self, *_partitions: Any, **_more: Any) -> Any:
        """Receive several."""
        return self.records


class Client:
    """In the place of aiokafka's client."""

    _bootstrap_servers = _SERVERS
    _client_id = "shop-1"

    async def _wait_on_metadata(self, topic: str) -> None:
        pass


class Proxied:
    """In the place of confluent-kafka's producer and consumer, which stock stands before."""

    config: Any
    message: Any
    messages: Any

    def produce(self, *_args: Any, **_more: Any) -> None:
        """Send one."""

    def poll(self, *_args: Any, **_more: Any) -> Any:
        """Receive one."""
        return self.message

    def consume(self, *_args: Any, **_more: Any) -> Any:
        """Receive several."""
        return self.messages


class Given:
    """The objects that the callables of this file use."""

    def __init__(self) -> None:
        self.spans = batching()
        kafka.KafkaProducer.send = Sending.send
        kafka.KafkaConsumer.__next__ = Receiving.__next__
        aiokafka.AIOKafkaProducer.send = Sending.send_soon
        aiokafka.AIOKafkaProducer._partition = Sending._partition
        aiokafka.AIOKafkaConsumer.getone = Receiving.getone
        aiokafka.AIOKafkaConsumer.getmany = Receiving.getmany
        KafkaInstrumentor().instrument(tracer_provider=self.spans)
        AIOKafkaInstrumentor().instrument(tracer_provider=self.spans)
        self.producer = _made(kafka.KafkaProducer, config={"bootstrap_servers": _SERVERS}, _closed=True)
        record = SimpleNamespace(topic="orders", partition=1, offset=4711, key=b"order-4711", headers=[*_HEADERS])
        place = aiokafka.TopicPartition("orders", 1)
        self.consumer = _made(kafka.KafkaConsumer, config={"bootstrap_servers": _SERVERS}, record=record)
        serializers = {"_key_serializer": None, "_value_serializer": None}
        self.aio_producer = _made(aiokafka.AIOKafkaProducer, client=Client(), _closed=True, **serializers)
        self.aio_consumer = _made(
            aiokafka.AIOKafkaConsumer,
            _client=Client(),
            _group_id="billing",
            _closed=True,
            record=record,
            records={place: [record] * _BATCH},
        )
        self.confluent = Proxied()
        self.confluent.config = {"bootstrap.servers": ",".join(_SERVERS)}
        message = confluent_kafka.Message(topic="orders", partition=1, offset=4711, value=b"{}", headers=[*_HEADERS])
        self.confluent.message, self.confluent.messages = message, [message] * _BATCH
        instrumentor: Any = ConfluentKafkaInstrumentor()
        self.confluent_producer = instrumentor.instrument_producer(self.confluent, self.spans)
        self.confluent_consumer = instrumentor.instrument_consumer(self.confluent, self.spans)


def _made(kind: Any, **fields: Any) -> Any:
    """A client without threads and connections."""
    made = kind.__new__(kind)
    vars(made).update(fields)
    return made


def _done(coroutine: Coroutine[Any, Any, Any]) -> None:
    try:
        coroutine.send(None)
    except StopIteration:
        return


stock, pure, compiled = ways(Given)


def _pair(
    name: str, wrapped: Callable[..., Any], use: Callable[[Given, Any], object]
) -> tuple[Callable[[Given], None], Callable[[Given], None]]:
    """The call without the instrumentation, and with it: how the method is found is not counted."""

    def bare(given: Given) -> None:
        use(given, wrapped)

    def instrumented(given: Given) -> None:
        use(given, None)

    # The table finds them by these names.
    bare.__name__, instrumented.__name__ = f"{name}_bare", name
    return bare, instrumented


def _send(given: Given, bare: Any) -> None:
    if bare is None:
        given.producer.send("orders", b"{}", b"order-4711")
    else:
        bare(given.producer, "orders", b"{}", b"order-4711")


def _receive(given: Given, bare: Any) -> None:
    if bare is None:
        given.consumer.__next__()
    else:
        bare(given.consumer)


def _send_soon(given: Given, bare: Any) -> None:
    if bare is None:
        _done(given.aio_producer.send("orders", b"{}", b"order-4711"))
    else:
        _done(bare(given.aio_producer, "orders", b"{}", b"order-4711"))


def _get_one(given: Given, bare: Any) -> None:
    if bare is None:
        _done(given.aio_consumer.getone())
    else:
        _done(bare(given.aio_consumer))


def _get_many(given: Given, bare: Any) -> None:
    if bare is None:
        _done(given.aio_consumer.getmany())
    else:
        _done(bare(given.aio_consumer))


def _produce(given: Given, bare: Any) -> None:
    (given.confluent_producer if bare is None else given.confluent).produce("orders", b"{}")


def _poll(given: Given, bare: Any) -> None:
    (given.confluent_consumer if bare is None else given.confluent).poll()


def _consume(given: Given, bare: Any) -> None:
    (given.confluent_consumer if bare is None else given.confluent).consume(_BATCH)


send_bare, send = _pair("send", Sending.send, _send)
receive_bare, receive = _pair("receive", Receiving.__next__, _receive)
aio_send_bare, aio_send = _pair("aio_send", Sending.send_soon, _send_soon)
get_one_bare, get_one = _pair("get_one", Receiving.getone, _get_one)
get_many_bare, get_many = _pair("get_many", Receiving.getmany, _get_many)
produce_bare, produce = _pair("produce", Proxied.produce, _produce)
poll_bare, poll = _pair("poll", Proxied.poll, _poll)
consume_bare, consume = _pair("consume", Proxied.consume, _consume)

# Row of the table -> bare and instrumented.
ROWS = {
    "kafka-python, send": (send_bare, send),
    "kafka-python, receive": (receive_bare, receive),
    "aiokafka, send": (aio_send_bare, aio_send),
    "aiokafka, receive": (get_one_bare, get_one),
    "aiokafka, receive 10": (get_many_bare, get_many),
    "confluent-kafka, send": (produce_bare, produce),
    "confluent-kafka, receive": (poll_bare, poll),
    "confluent-kafka, receive 10": (consume_bare, consume),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Messages of Kafka", "bench_kafka", ROWS, ("stock", "pure", "compiled")))
