"""Queries of a driver that has no instrumentation of its own: stock's for any DB-API takes its `connect`.

    python -m examples.other_driver_queries

Prints the name and the attributes of each span.
"""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace

from opentelemetry import trace
from opentelemetry.instrumentation import dbapi
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def main() -> None:
    """Instrument a driver, run queries, and print what was recorded."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    FastpathInstrumentor().instrument()
    # Any module with a `connect` of the DB-API.
    driver = SimpleNamespace(__name__="mydriver", connect=sqlite3.connect)
    dbapi.trace_integration(driver, "connect", "mydb")

    connection = driver.connect(":memory:")
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE orders (id INTEGER, total REAL)")
    cursor.executemany("INSERT INTO orders VALUES (?, ?)", [(1, 9.5), (2, 20.0)])
    cursor.execute("SELECT sum(total) FROM orders")
    print("total:", cursor.fetchone()[0])
    cursor.close()
    connection.close()

    for span in exporter.get_finished_spans():
        print(span.name, dict(span.attributes or {}))


if __name__ == "__main__":
    main()
