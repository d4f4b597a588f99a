"""Messages of pika that go through a real broker: one trace from the producer to the consumer, as with stock."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import contextlib
import contextvars
import itertools

import pika
import pytest
from opentelemetry import trace

from .conftest import Telemetry, stock_hooks

QUEUES = (f"orders-{number}" for number in itertools.count())


class FailedError(Exception):
    """The application's."""


def publish(connection, queue, count):
    """Send so many messages, each in a request of its own."""
    tracer, channel = trace.get_tracer("application"), connection.channel()
    channel.queue_declare(queue)
    for number in range(count):
        with tracer.start_as_current_span(f"request {number}"):
            properties = pika.BasicProperties(message_id=f"m{number}", headers={"x-tenant": "shop"})
            channel.basic_publish("", queue, b"%d" % number, properties)
    channel.close()


def consume(connection, queue, count, work):
    """Receive so many with a callback."""
    channel, left = connection.channel(), [count]

    def on_message(channel, method, properties, body):
        left[0] -= 1
        if not left[0]:
            channel.stop_consuming()
        work(channel, method, properties, body)

    channel.basic_consume(queue, on_message)
    channel.start_consuming()


def go_through(address, queue):
    """One message is rejected and comes again, the work at one fails, the last ones are iterated over."""
    received, connection = [], pika.BlockingConnection(address)
    tracer = trace.get_tracer("application")
    publish(connection, queue, 4)

    def work(channel, method, properties, body):
        with tracer.start_as_current_span("work"):
            received.append((body, sorted(properties.headers), method.redelivered))
        if body == b"0" and not method.redelivered:
            channel.basic_reject(method.delivery_tag, requeue=True)
        else:
            channel.basic_ack(method.delivery_tag)

    def fail(channel, method, properties, body):
        raise FailedError(body)

    consume(connection, queue, 1, work)
    with pytest.raises(FailedError):
        consume(connection, queue, 1, fail)
    # What was not acknowledged comes again.
    connection.close()
    connection = pika.BlockingConnection(address)
    consume(connection, queue, 2, work)
    channel = connection.channel()
    for method, properties, body in itertools.islice(channel.consume(queue), 2):
        work(channel, method, properties, body)
    connection.close()
    return received


def run(address, monkeypatch, *, is_stock):
    """What is received, and the spans, without the names of queues."""
    telemetry, queue = Telemetry(is_batched=True), next(QUEUES)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", telemetry.tracers)
    before = stock_hooks() if is_stock else contextlib.nullcontext()
    with before, telemetry.instrumented():
        # The last span of an iteration stays the current one.
        found = contextvars.Context().run(go_through, address, queue)
    return found, telemetry.seen(), str(telemetry.seen()).replace(queue, "orders"), queue


@pytest.mark.proves("pika.publish", "pika.callback", "pika.popleft")
def test_one_trace(ours, broker, monkeypatch):
    """Each message that is received has the span that sent it as its parent, in its trace."""
    address = pika.ConnectionParameters("127.0.0.1", broker.port)
    found, spans, shown, queue = run(address, monkeypatch, is_stock=False)
    assert found[0] == (b"0", ["traceparent", "x-tenant"], False)
    assert sorted(body for body, _, _ in found) == [b"0", b"0", b"1", b"2", b"3"]
    received = [span for span in spans if span[0] == f"{queue} receive"]
    assert len(received) >= 6
    for span in received:
        sent = spans[span[-2][0]]
        while sent[0] == f"{queue} send":
            sent = spans[sent[-2][0]]
        assert sent[0].startswith("request")
    as_stock = run(address, monkeypatch, is_stock=True)
    assert (found, shown) == (as_stock[0], as_stock[2])
