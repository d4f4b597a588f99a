"""Messages of Kafka as OpenTelemetry's instrumentations record them: run it beside a broker to see the spans.

docker run --rm -p 9092:9092 apache/kafka:4.1.0
KAFKA=127.0.0.1:9092 python -m examples.kafka_orders
"""

import asyncio
import os
from itertools import islice
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaConsumer, KafkaProducer
from opentelemetry import trace
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor
from opentelemetry.instrumentation.kafka import KafkaInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work(address: str) -> None:
    """Send and receive with kafka-python."""
    producer = KafkaProducer(bootstrap_servers=address)
    with trace.get_tracer("shop").start_as_current_span("order"):
        producer.send("orders", b"4711")
        producer.flush()
    producer.close()
    given = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 20_000}
    consumer = KafkaConsumer("orders", bootstrap_servers=address, **given)
    list(islice(consumer, 1))
    consumer.close()


async def work_soon(address: str) -> None:
    """Send with aiokafka, and receive a batch."""
    producer = AIOKafkaProducer(bootstrap_servers=address)
    consumer = AIOKafkaConsumer("parcels", bootstrap_servers=address, auto_offset_reset="earliest")
    async with producer:
        with trace.get_tracer("shop").start_as_current_span("parcel"):
            await producer.send_and_wait("parcels", b"4711")
    async with consumer:
        await consumer.getmany(timeout_ms=20_000)


def main(address: str) -> None:
    """Print each span below its parent."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    FastpathInstrumentor().instrument()
    instrumentors: tuple[Any, ...] = (KafkaInstrumentor(), AIOKafkaInstrumentor())
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
            linked = f"  {len(span.links)} link" if span.links else ""
            print(f"{indent}{span.name}  {span.kind.name}{linked}")
            show(spans, span.context.span_id, f"{indent}  ")


if __name__ == "__main__":
    main(os.environ.get("KAFKA", "127.0.0.1:9092"))
