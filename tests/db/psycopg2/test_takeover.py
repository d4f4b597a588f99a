"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import pytest


@pytest.mark.proves("psycopg2.official.execution")
def test_a_connection_of_its_own_function_has_one_span(stock_instrumentor, wrap, seen, run):
    """`instrument_connection`, which works without `instrument`, on a connection of ours; and on one from before."""

    def cursors_are_stock(connection):
        stock_instrumentor.instrument_connection(connection, tracer_provider=seen.tracer_provider)
        seen.spans()
        connection.cursor().execute("SELECT 1")
        return seen.names()

    def main(connection):
        wrap()
        assert cursors_are_stock(connection) == ["SELECT"]

    run(main)
    assert run(cursors_are_stock) == ["SELECT"]


@pytest.mark.parametrize("ours_first", [True, False])
def test_its_connections_have_one_span(stock_instrumentor, wrap, seen, run, ours_first):
    """Those that it had made before ours replaced it, and those that it made after ours was removed."""

    def main(connection):
        wrap()
        seen.spans()
        connection.cursor().execute("SELECT 1")
        return seen.names()

    if ours_first:
        wrap()
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    assert run(main) == ["SELECT"]
