"""In the stock instrumentation's place: its telemetry, but for what the docs list, and one span for each query."""

from __future__ import annotations

import psycopg
import pytest


def metrics_of(seen):
    """What is compared of the metrics."""
    return {
        name: sorted((sorted(point.attributes.items()), point.count, point.explicit_bounds) for point in points)
        for name, points in seen.metrics().items()
    }


@pytest.mark.proves("psycopg.official.*")
def test_cursors_that_it_made_have_one_span(stock_instrumentor, wrap, seen, run, run_async, instrumentor):
    """Connections that were made while stock's instrumented; afterwards, nothing is seen on them."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    def main(connection):
        wrap()
        seen.spans()
        connection.execute("SELECT 1")
        assert len(seen.spans()) == 1
        stock_instrumentor.uninstrument()
        instrumentor.uninstrument()

    run(main)

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)

    async def async_main(connection):
        wrap()
        seen.spans()
        await connection.execute("SELECT 1")
        assert len(seen.spans()) == 1

    run_async(async_main)


def test_a_subclass_connects_as_itself(stock_instrumentor, wrap, seen, run):
    """Uninstrumented, stock's leaves a `connect` that makes connections of the base class; ours does not."""

    class Connection(psycopg.Connection):
        pass

    def main(connection):
        with Connection.connect(connection.info.dsn) as made:
            return type(made)

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    stock_instrumentor.uninstrument()
    assert run(main) is psycopg.Connection

    wrap()

    assert run(main) is Connection


def test_a_connection_of_its_own_function_has_one_span(stock_instrumentor, wrap, seen, run):
    """`instrument_connection`, which works without `instrument`."""

    def main(connection):
        wrap()
        stock_instrumentor.instrument_connection(connection, tracer_provider=seen.tracer_provider)
        seen.spans()
        connection.execute("SELECT 1")
        return seen.names()

    assert run(main) == ["SELECT"]


COMMENT_ONLY = ["/* nothing */", "   ", "-- nothing"]


@pytest.mark.parametrize("text", COMMENT_ONLY[:2])
def test_a_comment_is_an_error_with_theirs_and_not_with_ours(stock_instrumentor, wrap, seen, run, text):
    """IndexError in the application, before the query is sent."""
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    with pytest.raises(IndexError):
        run(lambda connection: connection.execute(text))
    wrap(telemetry="same")

    run(lambda connection: connection.execute(text))

    (span,) = seen.spans()
    assert span.name == span.attributes["db.name"]
