"""Requests of cassandra-driver, as otel-fastpath records them: run it to see the spans.

    CASSANDRA_HOST=127.0.0.1 CASSANDRA_PORT=9042 python -m examples.cassandra_users

Without CASSANDRA_PORT it starts Simulacron, which answers each statement with nothing (needs Java and Maven).
"""

import os
import tempfile
from pathlib import Path

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import BatchStatement
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from examples.gevent_cassandra.simulacron import Simulacron
from otel_fastpath import FastpathInstrumentor

TABLE = "CREATE TABLE IF NOT EXISTS users (id text PRIMARY KEY, name text)"
KEYSPACE = "CREATE KEYSPACE IF NOT EXISTS shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"


def work(host: str, port: int) -> None:
    """The work of an application."""
    with Cluster([host], port=port, protocol_version=4) as cluster:
        session = cluster.connect()
        session.execute(KEYSPACE)
        session.set_keyspace("shop")
        session.execute(TABLE)
        insert = session.prepare("INSERT INTO users (id, name) VALUES (?, ?)")
        session.execute(insert, ("1", "somebody"))
        session.execute("SELECT name FROM users WHERE id = '1'")
        batch = BatchStatement()
        for number in range(10):
            batch.add(insert, (str(number), "somebody"))
        session.execute(batch)
        execute_concurrent_with_args(session, insert, [(str(number), "somebody") for number in range(3)])
        future = session.execute_async("DELETE FROM users WHERE id = %s", ("1",))
        future.result()


def main() -> None:
    """Print each span's name, consistency and text."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument(cassandra="on", tracer_provider=provider)
    if "CASSANDRA_PORT" in os.environ:
        work(os.environ.get("CASSANDRA_HOST", "127.0.0.1"), int(os.environ["CASSANDRA_PORT"]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            simulacron = Simulacron(Path(folder))
            try:
                work("127.0.0.1", simulacron.cluster().ports[0])
            finally:
                simulacron.stop()
    FastpathInstrumentor().uninstrument()
    for span in exporter.get_finished_spans():
        attributes = span.attributes or {}
        level, text = attributes.get("cassandra.consistency.level", ""), attributes.get("db.query.text", "")
        print(f"{span.name:24}  {level:10}  {text}")


if __name__ == "__main__":
    main()
