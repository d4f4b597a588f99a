"""A slow query and one that is repeated, as otel-fastpath records them on request: run it to see the attributes.

python -m examples.slow_queries
"""

import sqlite3
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work() -> None:
    """A request that reads its orders, one by one the customers of them, and a report."""
    connection = sqlite3.connect(":memory:")
    connection.create_function("wait", 1, time.sleep)
    connection.executescript("CREATE TABLE orders (customer INTEGER); CREATE TABLE customers (id INTEGER)")
    connection.executemany("INSERT INTO orders VALUES (?)", [(number,) for number in range(12)])
    with trace.get_tracer("example").start_as_current_span("GET /orders", kind=trace.SpanKind.SERVER):
        for (customer,) in connection.execute("SELECT customer FROM orders").fetchall():
            connection.execute("SELECT * FROM customers WHERE id = ?", (customer,))
        connection.execute("SELECT wait(:seconds) FROM orders LIMIT 1", {"seconds": 0.3})
    connection.close()


def main() -> None:
    """Print the spans that have more than the conventions ask for."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    FastpathInstrumentor().instrument(sqlite3="on", sqlite3_options="slow=200ms,repeats=10")
    work()
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        for key, value in (span.attributes or {}).items():
            if key.startswith(("otel_fastpath.", "db.query.parameter.")):
                print(f"{span.name:15}  {key} = {value}")


if __name__ == "__main__":
    main()
