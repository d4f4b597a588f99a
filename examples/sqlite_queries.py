"""Statements of sqlite3 and aiosqlite, as otel-fastpath records them: run it to see the spans.

python -m examples.sqlite_queries
"""

import asyncio
import sqlite3

import aiosqlite
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work() -> None:
    """The work of an application."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
    with connection:
        connection.executemany("INSERT INTO items VALUES (?, ?)", [(1, "table"), (2, "chair")])
        connection.execute("UPDATE items SET name = 'secret' WHERE id = 1")
    connection.close()


async def async_work() -> None:
    """The same in a task: the spans are children of its own."""
    with trace.get_tracer("example").start_as_current_span("request"):
        async with aiosqlite.connect(":memory:") as connection:
            await connection.execute_fetchall("SELECT ?", (1,))


def main() -> None:
    """Print each span's name, its parent's and its text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    FastpathInstrumentor().instrument(sqlite3="on")
    work()
    asyncio.run(async_work())
    FastpathInstrumentor().uninstrument()
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans if span.context}
    for span in spans:
        parent = names[span.parent.span_id] if span.parent else "-"
        print(f"{span.name:20}  {parent:8}  {(span.attributes or {}).get('db.query.text', '')}")


if __name__ == "__main__":
    main()
