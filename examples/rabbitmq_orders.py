"""Messages of RabbitMQ as OpenTelemetry's instrumentations record them: run it beside a broker to see the spans.

docker run --rm -p 5672:5672 rabbitmq
RABBITMQ=amqp://guest:guest@127.0.0.1:5672/ python -m examples.rabbitmq_orders
"""

import asyncio
import os
from typing import Any

import aio_pika
import pika
from opentelemetry import trace
from opentelemetry.instrumentation.aio_pika import AioPikaInstrumentor
from opentelemetry.instrumentation.pika import PikaInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work(address: str) -> None:
    """Send and receive with pika."""
    tracer = trace.get_tracer("shop")
    connection = pika.BlockingConnection(pika.URLParameters(address))
    channel = connection.channel()
    channel.queue_declare("orders", auto_delete=True)
    with tracer.start_as_current_span("order"):
        channel.basic_publish("", "orders", b"4711")

    def on_message(channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
        with tracer.start_as_current_span("charge"):
            channel.basic_ack(method.delivery_tag)
        channel.stop_consuming()

    channel.basic_consume("orders", on_message)
    channel.start_consuming()
    connection.close()


async def work_soon(address: str) -> None:
    """Send and receive with aio-pika."""
    tracer, done = trace.get_tracer("shop"), asyncio.Event()

    async def on_message(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        with tracer.start_as_current_span("deliver"):
            await message.ack()
        done.set()

    async with await aio_pika.connect(address) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("parcels", auto_delete=True)
        with tracer.start_as_current_span("parcel"):
            await channel.default_exchange.publish(aio_pika.Message(b"4711"), routing_key="parcels")
        await queue.consume(on_message)
        await done.wait()


def main(address: str) -> None:
    """Print each span below its parent."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    FastpathInstrumentor().instrument()
    instrumentors: tuple[Any, ...] = (PikaInstrumentor(), AioPikaInstrumentor())
    for each in instrumentors:
        each.instrument()
    work(address)
    asyncio.run(work_soon(address))
    for each in instrumentors:
        each.uninstrument()
    FastpathInstrumentor().uninstrument()
    show(sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0), None, "")


def show(spans: list[Any], parent: int | None, indent: str) -> None:
    """Print the spans below one, and below each of them those that are below it."""
    for span in spans:
        if (span.parent and span.parent.span_id) == parent:
            print(f"{indent}{span.name}  {span.kind.name}")
            show(spans, span.context.span_id, f"{indent}  ")


if __name__ == "__main__":
    main(os.environ.get("RABBITMQ", "amqp://guest:guest@127.0.0.1:5672/"))
