"""Messages that go through a real broker: one trace from the producer to the consumer, as with stock."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import contextlib
import itertools

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaConsumer, KafkaProducer
from opentelemetry import trace

from .conftest import Telemetry, stock_hooks
from .real_broker import Kafka, MissingError

TOPICS = (f"orders-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A running broker's."""
    try:
        kafka = Kafka(tmp_path_factory.mktemp("kafka"))
    except MissingError as error:
        pytest.skip(str(error))
    yield kafka.address
    kafka.stop()


def send(address, topic, count):
    """Send so many messages with kafka-python."""
    tracer = trace.get_tracer("application")
    producer = KafkaProducer(bootstrap_servers=address, client_id="shop")
    for number in range(count):
        with tracer.start_as_current_span(f"request {number}"):
            producer.send(topic, b"%d" % number, key=b"order", headers=[("x-tenant", b"shop")])
    producer.flush()
    producer.close()


def receive(address, topic, count, work):
    """Receive so many messages with kafka-python; one whose work fails is not committed."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=20_000,
    )
    with contextlib.closing(consumer):
        for message in itertools.islice(consumer, count):
            work(message)
            consumer.commit()


async def send_soon(address, topic, count):
    """Send so many messages with aiokafka."""
    producer = AIOKafkaProducer(bootstrap_servers=address, client_id="shop")
    await producer.start()
    try:
        for number in range(count):
            await producer.send_and_wait(topic, b"%d" % number, b"order")
    finally:
        await producer.stop()


async def receive_soon(address, topic, count, many):
    """Receive so many messages with aiokafka, one by one or in a batch."""
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=address, group_id=topic, auto_offset_reset="earliest")
    await consumer.start()
    found = []
    try:
        while len(found) < count:
            if many:
                batch = await consumer.getmany(timeout_ms=10_000)
                found += itertools.chain.from_iterable(batch.values())
            else:
                found.append(await anext(aiter(consumer)))
    finally:
        await consumer.stop()
    return found


class FailedError(Exception):
    """The application's."""


def go_through(address, topic):
    """Send and receive with both libraries; one message is received twice, because the work at it fails."""

    def fail(message):
        raise FailedError(message.value)

    received = []
    send(address, topic, 3)
    with pytest.raises(FailedError):
        receive(address, topic, 1, fail)
    receive(address, topic, 3, received.append)
    asyncio.run(send_soon(address, f"{topic}-soon", 2))
    one = asyncio.run(receive_soon(address, f"{topic}-soon", 2, many=False))
    asyncio.run(send_soon(address, f"{topic}-many", 3))
    many = asyncio.run(receive_soon(address, f"{topic}-many", 3, many=True))
    return [(each.value, [name for name, _ in each.headers]) for each in (*received, *one, *many)]


def run(address, monkeypatch, *, is_stock):
    """What is received, and the spans, without the names of topics."""
    telemetry, topic = Telemetry(is_batched=True), next(TOPICS)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", telemetry.tracers)
    with telemetry.instrumented(), stock_hooks() if is_stock else contextlib.nullcontext():
        found = go_through(address, topic)
    return found, telemetry.seen(), str(telemetry.seen()).replace(topic, "orders"), topic


@pytest.mark.proves("kafka_python.hooks", "aiokafka.hooks")
def test_one_trace(ours, address, monkeypatch):
    """Each message that is received has the span that sent it as its parent, in its trace."""
    found, spans, shown, topic = run(address, monkeypatch, is_stock=False)
    assert found[:3] == [(b"%d" % number, ["x-tenant", "traceparent"]) for number in range(3)]
    assert found[3:] == [(b"%d" % number, ["traceparent"]) for number in (0, 1, 0, 1, 2)]
    sent = [number for number, span in enumerate(spans) if span[0] == f"{topic} send"]
    received = [span for span in spans if span[0] == f"{topic} receive"]
    assert [span[-2][0] for span in received] == [sent[0], *sent]
    assert all(spans[spans[number][-2][0]][0].startswith("request") for number in sent)
    batch = [span for span in spans if span[0] == f"{topic}-many receive"]
    # Those of messages end before that of their topic, which is linked to them, and this before that of the batch.
    assert [len(span[-3]) for span in batch] == [0, 0, 0, 3, 0]
    as_stock = run(address, monkeypatch, is_stock=True)
    assert (found, shown) == (as_stock[0], as_stock[2])
