"""Queries without a span: what asyncpg itself executes inside of one is part of it all the same."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

DURATION = "db.client.operation.duration"
NO_SPANS = {"no tracer": trace.NoOpTracerProvider, "not sampled": lambda: TracerProvider(sampler=ALWAYS_OFF)}


@pytest.mark.parametrize("kind", NO_SPANS)
def test_introspection_has_no_duration(seen, look, kind):
    """As it has no span: it is part of the query, which has none here."""
    seen.tracer_provider = NO_SPANS[kind]()

    async def main(connection):
        await connection.execute("CREATE TYPE pg_temp.pair AS (a int, b text)")
        await connection.fetch("SELECT (1, 'x')::pg_temp.pair")
        await connection.fetch("SELECT 2")

    found = {point.attributes["db.query.summary"]: point.count for point in look(main).metrics()[DURATION]}

    fixture = {"CONNECT": 1, "CREATE TABLE t": 1, "INSERT t SELECT generate_series": 1}
    assert found == {**fixture, "CREATE TYPE pg_temp.pair": 1, "SELECT": 2}
