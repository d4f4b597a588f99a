"""Messages of aio-pika that go through a real broker: one trace from the producer to the consumer, as with stock."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import contextlib
import itertools

import aio_pika
import pytest
from opentelemetry import trace

from .conftest import Telemetry, stock_hooks

QUEUES = (f"parcels-{number}" for number in itertools.count())


class FailedError(Exception):
    """The application's."""


async def go_through(address, name):
    """One message is rejected and comes again, and the work at one fails, which comes again, too."""
    received, tracer = [], trace.get_tracer("application")
    done = asyncio.Event()
    connection = await aio_pika.connect_robust(address)

    async def work(message):
        async with message.process(requeue=True, ignore_processed=True):
            with tracer.start_as_current_span("work"):
                received.append((message.body, sorted(message.headers), message.redelivered))
            if len(received) == 5:
                done.set()
            if message.body == b"0" and not message.redelivered:
                await message.reject(requeue=True)
            if message.body == b"1" and not message.redelivered:
                raise FailedError

    async with connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=1)
        queue = await channel.declare_queue(name)
        for number in range(3):
            with tracer.start_as_current_span(f"request {number}"):
                message = aio_pika.Message(b"%d" % number, message_id=f"m{number}", headers={"x-tenant": "shop"})
                await channel.default_exchange.publish(message, routing_key=name)
        await queue.consume(work)
        await asyncio.wait_for(done.wait(), 20)
        await asyncio.sleep(0.1)
    return received


def run(broker, monkeypatch, *, is_stock):
    """What is received, and the spans, without the names of queues and the frames of stack traces."""
    telemetry, queue = Telemetry(is_batched=True), next(QUEUES)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", telemetry.tracers)
    before = stock_hooks() if is_stock else contextlib.nullcontext()
    with before, telemetry.instrumented():
        found = asyncio.run(go_through(f"amqp://guest:guest@127.0.0.1:{broker.port}/", queue))
    return found, telemetry.seen(), sorted(map(str, plain(telemetry.seen(), queue))), queue


def plain(spans, queue):
    """Each span with the name of its parent: their order is the broker's."""
    for span in spans:
        *rest, parent, scope = span
        yield str(rest).replace(queue, "parcels"), parent and spans[parent[0]][0].replace(queue, "parcels"), scope


@pytest.mark.filterwarnings("ignore")
@pytest.mark.proves("aio_pika.hooks", "aio_pika.callback")
def test_one_trace(ours, broker, monkeypatch):
    """Each message that is received has the span that sent it as its parent, in its trace."""
    found, spans, shown, queue = run(broker, monkeypatch, is_stock=False)
    assert sorted(body for body, _, _ in found) == [b"0", b"0", b"1", b"1", b"2"]
    assert found[0] == (b"0", ["traceparent", "x-tenant"], False)
    received = [span for span in spans if span[0] == f"{queue} receive"]
    assert len(received) == 5
    for span in received:
        sent = spans[span[-2][0]]
        assert sent[0] == f",{queue} send"
        assert spans[sent[-2][0]][0].startswith("request")
    assert [span[2][1] for span in received].count("FailedError: ") == 1
    as_stock = run(broker, monkeypatch, is_stock=True)
    assert (sorted(found), shown) == (sorted(as_stock[0]), as_stock[2])
