"""Queries, pages of values, a COPY and cursors of psycopg2, as otel-fastpath records them: run it to see the spans.

DATABASE_URL=postgresql://... python -m examples.psycopg2_queries
"""

import io
import os

import psycopg2
import psycopg2.extras
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def work(url: str) -> None:
    """The work of an application."""
    connection = psycopg2.connect(url)
    with connection, connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
        cursor.execute("CREATE TEMP TABLE items (id int PRIMARY KEY, name text)")
        cursor.copy_from(io.StringIO("1\ttable\n2\tchair\n"), "items")
        psycopg2.extras.execute_values(cursor, "INSERT INTO items VALUES %s", [(i, "x") for i in range(3, 300)])
        cursor.execute("UPDATE items SET name = 'secret' WHERE id = 1")
    with connection, connection.cursor("named") as cursor:
        cursor.execute("SELECT * FROM items WHERE id < %s", [9])
        cursor.fetchall()
    connection.close()


def main() -> None:
    """Print each span's name and text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument(psycopg2="on", tracer_provider=provider)
    work(os.environ["DATABASE_URL"])
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        print(f"{span.name:20}  {(span.attributes or {}).get('db.query.text', '')}")


if __name__ == "__main__":
    main()
