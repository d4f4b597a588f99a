"""Queries, a transaction, a cursor and a pool of asyncpg, as otel-fastpath records them: run it to see the spans.

DATABASE_URL=postgresql://... python -m examples.asyncpg_queries
"""

import asyncio
import os

import asyncpg
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


async def work(url: str) -> None:
    """The work of an application."""
    async with asyncpg.create_pool(url, min_size=1, max_size=2) as pool, pool.acquire() as connection:
        await connection.execute("CREATE TEMP TABLE items (id int PRIMARY KEY, name text)")
        await connection.executemany("INSERT INTO items VALUES ($1, $2)", [(1, "table"), (2, "chair"), (3, "lamp")])
        async with connection.transaction():
            async for _item in connection.cursor("SELECT * FROM items ORDER BY id", prefetch=2):
                pass
        await connection.fetchval("SELECT name FROM items WHERE name = 'secret'")


def main() -> None:
    """Print each span's name and text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument(asyncpg="on", tracer_provider=provider)
    asyncio.run(work(os.environ["DATABASE_URL"]))
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        attributes = span.attributes or {}
        print(f"{span.name:20}  {attributes.get('db.query.text', '')}")


if __name__ == "__main__":
    main()
