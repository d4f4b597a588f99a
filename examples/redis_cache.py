"""Commands, a pipeline, a transaction and a lock of redis-py, as otel-fastpath records them: run it to see the spans.

REDIS_URL=redis://localhost:6379 python -m examples.redis_cache
"""

import os

import redis
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work(url: str) -> None:
    """The work of an application."""
    with redis.Redis.from_url(url) as client:
        client.set("session:4711", "somebody's secret", ex=60)
        client.get("session:4711")
        pipeline = client.pipeline(transaction=False)
        for number in range(100):
            pipeline.get(f"session:{number}")
        pipeline.execute()
        client.pipeline().incr("visits").expire("visits", 60).execute()
        with client.lock("lock:report", timeout=5):
            client.mset({f"report:{number}": number for number in range(20)})
        client.config_set("requirepass", "")
        try:
            client.lpush("session:4711", "x")
        except redis.ResponseError:
            client.delete("session:4711")


def main() -> None:
    """Print each span's name, status and text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument(redis="on", tracer_provider=provider)
    work(os.environ["REDIS_URL"])
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        attributes = span.attributes or {}
        text = str(attributes.get("db.query.text", "")).replace("\n", "; ")
        print(f"{span.name:14}  {attributes.get('error.type', ''):10}  {text}")


if __name__ == "__main__":
    main()
