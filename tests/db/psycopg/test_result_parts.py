"""Results that are read in parts: streams, COPY, server-side cursors."""

from __future__ import annotations

import inspect

import psycopg
import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

ROWS = "db.client.response.returned_rows"


@pytest.mark.proves("psycopg.cursor.stream")
@pytest.mark.parametrize("rows", [10, 3])
def test_a_stream_is_a_span(look, seen, rows):
    """From the first row to the last, or until it is closed; the application's spans are not its children."""
    tracer = seen.tracer_provider.get_tracer("test")

    def main(connection):
        with tracer.start_as_current_span("request"):
            stream = connection.cursor().stream("SELECT * FROM t WHERE id <= %s", [10])
            assert inspect.isgenerator(stream)
            for _ in range(rows):
                next(stream)
                assert trace.get_current_span().name == "request"
            if rows == 10:
                assert list(stream) == []
            stream.close()

    span, request = look(main).spans()

    assert (span.name, span.status.status_code) == ("SELECT t", StatusCode.UNSET)
    assert span.parent.span_id == request.context.span_id


@pytest.mark.proves("psycopg.async_cursor.stream")
def test_an_asynchronous_stream_is_a_span(look_async):
    """Likewise."""

    async def main(connection):
        rows = [row async for row in connection.cursor().stream("SELECT * FROM t")]
        assert len(rows) == 10
        stream = connection.cursor().stream("SELECT * FROM t")
        await anext(stream)
        await stream.aclose()
        with pytest.raises(psycopg.errors.UndefinedTable):
            await anext(connection.cursor().stream("SELECT * FROM nothing"))

    whole, closed, failed = look_async(main).spans()

    assert (whole.name, closed.name, failed.name) == ("SELECT t", "SELECT t", "SELECT nothing")
    assert [span.status.status_code.name for span in (whole, closed, failed)] == ["UNSET", "UNSET", "ERROR"]


@pytest.mark.proves("psycopg.cursor.copy")
def test_a_copy_is_a_span(look, seen):
    """In both directions, with the number of rows; the application's spans are not its children."""
    tracer = seen.tracer_provider.get_tracer("test")

    def main(connection):
        cursor = connection.cursor()
        with cursor.copy("COPY t FROM STDIN") as copy:
            copy.write_row((11, "x"))
            with tracer.start_as_current_span("mine"):
                copy.write_row((12, "y"))
        with cursor.copy("COPY (SELECT * FROM t WHERE v <> %s) TO STDOUT", ["secret"]) as copy:
            assert len(list(copy.rows())) == 12
        with pytest.raises(psycopg.errors.UndefinedTable), cursor.copy("COPY nothing FROM STDIN"):
            pass
        with pytest.raises(ZeroDivisionError), cursor.copy("COPY t FROM STDIN"):
            raise ZeroDivisionError

    mine, first, second, failed, broken = look(main).spans()

    assert mine.parent is None
    assert [span.name for span in (first, second, failed)] == ["COPY t", "COPY SELECT t", "COPY nothing"]
    assert [span.attributes.get("psycopg.copy.rows") for span in (first, second, failed)] == [2, 12, None]
    assert [point.sum for point in seen.metrics()[ROWS]] == [12]
    assert failed.attributes["error.type"] == "42P01"
    assert broken.attributes["error.type"] == "ZeroDivisionError"


@pytest.mark.proves("psycopg.async_cursor.copy")
def test_an_asynchronous_copy_is_a_span(look_async):
    """Likewise."""

    async def main(connection):
        async with connection.cursor().copy("COPY t FROM STDIN") as copy:
            await copy.write_row((11, "x"))
        with pytest.raises(ZeroDivisionError):
            async with connection.cursor().copy("COPY t TO STDOUT"):
                raise ZeroDivisionError

    span, broken = look_async(main).spans()

    assert (span.name, span.attributes["psycopg.copy.rows"]) == ("COPY t", 1)
    assert broken.attributes["error.type"] == "ZeroDivisionError"


@pytest.mark.proves("psycopg.server_cursor.*")
@pytest.mark.parametrize(("size", "trips"), [(100, 2), (3, 5)])
def test_a_server_cursor_has_one_span_per_round_trip(look, size, trips):
    """However many rows there are in each; declaring it is the first."""

    def main(connection):
        with connection.transaction(), connection.cursor("mine") as cursor:
            cursor.itersize = size
            cursor.execute("SELECT id FROM t WHERE id <= %s", [10])
            assert [row[0] for row in cursor] == list(range(1, 11))

    begin, *spans, commit = look(main, options="rows").spans()

    assert (begin.name, commit.name) == ("BEGIN", "COMMIT")
    assert [span.name for span in spans] == ["SELECT t"] * trips
    assert sum(span.attributes.get("db.response.returned_rows", 0) for span in spans) == 10


def test_a_server_cursors_methods_are_one_span_each(look):
    """Also of one that was declared elsewhere."""

    def main(connection):
        with connection.transaction():
            cursor = connection.cursor("mine", scrollable=True)
            cursor.execute("SELECT id FROM t")
            cursor.fetchone()
            cursor.fetchmany(2)
            cursor.scroll(-1)
            cursor.fetchall()
            other = psycopg.ServerCursor(connection, "mine")
            other.fetchone()
            cursor.close()
            # The server has closed it.
            other._closed = True
            with pytest.raises(psycopg.errors.UndefinedTable), connection.cursor("other") as failing:
                failing.execute("SELECT * FROM nothing")

    spans = look(main).spans()

    names = [span.name for span in spans]
    assert names == ["BEGIN", *["SELECT t"] * 5, "FETCH", "SELECT nothing", "COMMIT"]
    assert spans[-2].attributes["error.type"] == "42P01"


@pytest.mark.proves("psycopg.async_server_cursor.*")
def test_an_asynchronous_server_cursor_is_the_same(look_async):
    """Declaring, iterating, fetching, scrolling."""

    async def main(connection):
        async with connection.transaction(), connection.cursor("mine", scrollable=True) as cursor:
            cursor.itersize = 7
            await cursor.execute("SELECT id FROM t")
            assert [row[0] async for row in cursor] == list(range(1, 11))
            await cursor.scroll(-2)
            await cursor.fetchall()

    names = look_async(main).names()

    assert names == ["BEGIN", *["SELECT t"] * 5, "COMMIT"]
