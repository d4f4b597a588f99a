"""Pipelines: a span ends when its result is there, and the query that failed is the one that is an error."""

from __future__ import annotations

import asyncio
import contextlib
import time

import psycopg
import pytest
from opentelemetry import trace

MILLISECOND = 1_000_000


def told(spans):
    """Name and status of each, in the order in which they began."""
    in_order = sorted(spans, key=lambda span: span.start_time)
    return [(span.name, span.status.status_code.name) for span in in_order]


@pytest.mark.proves("psycopg.pipeline.process_results", "psycopg.pipeline.exit")
def test_a_span_ends_when_its_result_is_there(look, seen):
    """Not when the query was sent; what the application does meanwhile is no child of it."""
    tracer = seen.tracer_provider.get_tracer("test")

    def main(connection):
        with connection.pipeline():
            cursor = connection.execute("SELECT pg_sleep(0.2)")
            assert trace.get_current_span() is trace.INVALID_SPAN
            with tracer.start_as_current_span("mine"):
                assert seen.spans() == ()
            assert cursor.fetchone() == ("",)
            first, second = seen.spans()
            assert (first.name, second.name) == ("mine", "SELECT")
            assert second.end_time - second.start_time > 200 * MILLISECOND
            connection.execute("SELECT * FROM t")
            assert seen.spans() == ()

    span = look(main, options="rows").one()

    assert (span.name, span.attributes["db.response.returned_rows"]) == ("SELECT t", 10)


def test_each_query_has_its_own_time(look):
    """As long as its result and those before it took."""

    def main(connection):
        with connection.pipeline():
            for seconds in (0.15, 0, 0.1):
                connection.execute("SELECT pg_sleep(%s)", [seconds])

    spans = look(main).spans()

    took = [(span.end_time - span.start_time) / MILLISECOND for span in spans]
    assert took[0] > 150
    assert took[2] > 240


def test_the_query_that_failed_is_the_error(look):
    """Not the next one; those that were not executed because of it are errors, too."""

    def fails(connection):
        with connection.pipeline():
            connection.execute("SELECT 1")
            connection.execute("SELECT * FROM nothing")
            connection.execute("SELECT 2 FROM t")

    def main(connection):
        with pytest.raises(psycopg.errors.UndefinedTable):
            fails(connection)
        connection.execute("SELECT 3")

    spans = look(main).spans()

    assert told(spans) == [
        *(("SELECT", "UNSET"), ("SELECT nothing", "ERROR")),
        *(("SELECT t", "ERROR"), ("SELECT", "UNSET")),
    ]
    errors = [span.attributes.get("error.type") for span in sorted(spans, key=lambda span: span.start_time)]
    assert errors == [None, "42P01", "psycopg.errors.PipelineAborted", None]


def test_an_error_that_arrives_during_another_query_is_not_its_own(look):
    """It is raised there; that query was sent, and its result says that it was not executed."""

    def fails_later(connection):
        for _ in range(1000):
            time.sleep(0.01)
            connection.execute("SELECT 1")

    def main(connection):
        with connection.pipeline() as pipeline:
            connection.execute("SELECT * FROM nothing")
            with pytest.raises(psycopg.errors.UndefinedTable):
                fails_later(connection)
            with contextlib.suppress(psycopg.errors.PipelineAborted):
                pipeline.sync()
            connection.execute("SELECT 2 FROM t")

    spans = look(main).spans()

    states = {}
    for span in spans:
        states.setdefault(span.name, set()).add(span.attributes.get("error.type"))
    assert states == {
        "SELECT nothing": {"42P01"},
        "SELECT": {"psycopg.errors.PipelineAborted"},
        "SELECT t": {None},
    }


def test_a_query_that_could_not_be_sent_is_an_error(look):
    """In a pipeline, too; of a batch the first parameters were sent."""

    def main(connection):
        with connection.pipeline():
            with pytest.raises(psycopg.ProgrammingError):
                connection.execute("SELECT %s", [object()])
            with pytest.raises(psycopg.ProgrammingError):
                connection.cursor().executemany("SELECT %s::text", [("a",), (object(),)])

    assert told(look(main).spans()) == [("SELECT", "ERROR"), ("BATCH SELECT", "ERROR")]


def test_a_batch_is_one_span(look):
    """It ends with its last result, also with other queries of the same cursor before and after it."""

    def main(connection):
        with connection.pipeline():
            cursor = connection.cursor()
            cursor.execute("SELECT 1")
            cursor.executemany("INSERT INTO t VALUES (%s)", [(11,), (12,)])
            cursor.execute("SELECT 2 FROM t")

    assert told(look(main).spans()) == [("SELECT", "UNSET"), ("BATCH INSERT t", "UNSET"), ("SELECT t", "UNSET")]


def test_a_batch_outside_is_one_span_with_its_own_error(look):
    """A pipeline is made for it."""

    def main(connection):
        cursor = connection.cursor()
        with pytest.raises(psycopg.errors.UniqueViolation):
            cursor.executemany("INSERT INTO t VALUES (%s)", [(11,), (1,), (12,)])

    span = look(main).one()

    assert (span.name, span.attributes["error.type"]) == ("BATCH INSERT t", "23505")


def test_thousands_of_queries_in_a_pipeline_have_their_rows(look):
    """Each its own, however many are on their way; none is looked for among all of them."""

    def main(connection):
        with connection.pipeline():
            for number in range(3000):
                connection.execute("SELECT generate_series(1, %s)", [number % 3])

    spans = look(main, options="rows").spans()

    in_order = sorted(spans, key=lambda span: span.start_time)
    assert [span.attributes["db.response.returned_rows"] for span in in_order] == [0, 1, 2] * 1000


def test_transactions_in_a_pipeline_are_spans(look):
    """Also the transaction that psycopg begins by itself."""

    def main(connection):
        with connection.pipeline(), connection.transaction():
            connection.execute("SELECT 1")
        connection.autocommit = False
        with connection.pipeline():
            connection.execute("SELECT 2 FROM t")
            connection.commit()

    assert told(look(main).spans()) == [
        *(("BEGIN", "UNSET"), ("SELECT", "UNSET"), ("COMMIT", "UNSET")),
        *(("SELECT t", "UNSET"), ("COMMIT", "UNSET")),
    ]


def test_a_connection_that_is_lost_ends_the_spans(look, database_url):
    """Whose results will not arrive: they are errors."""

    def lost(connection, other):
        with connection.pipeline() as pipeline:
            connection.execute("SELECT pg_sleep(5)")
            connection.execute("SELECT 1 FROM t")
            other.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
            pipeline.sync()

    def main(connection):
        with psycopg.connect(database_url, autocommit=True) as other, pytest.raises(psycopg.OperationalError):
            lost(connection, other)

    spans = [span for span in look(main).spans() if span.status.status_code.name == "ERROR"]

    assert sorted(span.name for span in spans) == ["SELECT", "SELECT t"]


@pytest.mark.proves("psycopg.async_pipeline.process_results", "psycopg.async_pipeline.exit")
def test_an_asynchronous_pipeline_is_the_same(look_async):
    """Times, errors, batches."""

    async def fails(connection):
        async with connection.pipeline():
            await connection.execute("SELECT pg_sleep(0.1)")
            await connection.cursor().executemany("INSERT INTO t VALUES (%s)", [(11,), (12,)])
            await connection.execute("SELECT * FROM nothing")

    async def cancelled(connection):
        async with connection.pipeline():
            task = asyncio.create_task(_slow(connection))
            await asyncio.sleep(0.05)
            task.cancel()
            await task

    async def main(connection):
        with pytest.raises(psycopg.errors.UndefinedTable):
            await fails(connection)
        with pytest.raises(asyncio.CancelledError):
            await cancelled(connection)

    first, batch, failed, *_ = spans = look_async(main).spans()

    assert first.end_time - first.start_time > 100 * MILLISECOND
    assert (batch.name, failed.attributes["error.type"]) == ("BATCH INSERT t", "42P01")
    assert spans[-1].name == "SELECT"


async def _slow(connection):
    cursor = await connection.execute("SELECT pg_sleep(5)")
    await cursor.fetchone()
