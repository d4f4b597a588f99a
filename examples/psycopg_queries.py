"""Queries, a pipeline, a COPY, a cursor and a pool of psycopg, as otel-fastpath records them: run it to see the spans.

DATABASE_URL=postgresql://... python -m examples.psycopg_queries
"""

import os

import psycopg
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work(url: str) -> None:
    """The work of an application."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE items (id int PRIMARY KEY, name text)")
        with connection.cursor().copy("COPY items FROM STDIN") as copy:
            copy.write_row((1, "table"))
            copy.write_row((2, "chair"))
        connection.cursor().executemany("INSERT INTO items VALUES (%s, %s)", [(3, "lamp"), (4, "shelf")])
        with connection.transaction(), connection.cursor("named") as cursor:
            cursor.execute("SELECT * FROM items WHERE id < %s", [9]).fetchall()
        with connection.pipeline():
            connection.execute("UPDATE items SET name = 'secret' WHERE id = 1")
            connection.execute("SELECT pg_sleep(0.05)")


def main() -> None:
    """Print each span's name, duration in milliseconds, and text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument(psycopg="on", tracer_provider=provider)
    work(os.environ["DATABASE_URL"])
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        attributes = span.attributes or {}
        milliseconds = ((span.end_time or 0) - (span.start_time or 0)) // 1_000_000
        print(f"{span.name:20}  {milliseconds:4} ms  {attributes.get('db.query.text', '')}")


if __name__ == "__main__":
    main()
