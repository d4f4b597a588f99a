"""What an application sees of psycopg is the same: signatures, kinds of functions, types, where errors are raised."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import wrapt


def test_what_raises_at_once_raises_at_once(look):
    """And what raises when it is used, raises there: a stream, a COPY."""

    def main(connection):
        cursor = connection.cursor()
        stream = cursor.stream("SELECT 1", size=0)
        with pytest.raises(ValueError, match="size"):
            next(stream)
        copy = cursor.copy("nonsense")
        with pytest.raises(psycopg.errors.SyntaxError):
            copy.__enter__()
        with pytest.raises(TypeError):
            cursor.execute()
        with pytest.raises(TypeError):
            cursor.execute("SELECT 1", nonsense=1)

    look(main)


def test_subclasses_of_the_applications_work(look, database_url):
    """A connection and a cursor of its own, which call what they override."""

    class Cursor(psycopg.Cursor):
        def execute(self, query, params=None, **kwargs):
            return super().execute(f"/* mine */ {query}", params, **kwargs)

    class Connection(psycopg.Connection):
        @classmethod
        def connect(cls, *args, **kwargs):
            made = super().connect(*args, **kwargs)
            made.cursor_factory = Cursor
            return made

    def main(_connection):
        with Connection.connect(database_url) as connection:
            assert type(connection) is Connection
            assert connection.execute("SELECT 1").fetchone() == (1,)

    assert look(main).names() == ["CONNECT", "SELECT", "COMMIT"]


@pytest.mark.parametrize("owner", [psycopg.Cursor, psycopg.AsyncCursor])
def test_wrong_arguments_of_copy_are_an_error_at_the_call(wrap, owner):
    """Not when the block begins."""
    wrap()

    with pytest.raises(TypeError, match=r"Cursor.copy\(\) missing 1 required positional argument: 'statement'"):
        owner.copy(None)


def test_a_wrapper_of_wrapt_around_connect_is_called_as_before(wrap, database_url, monkeypatch):
    """Another vendor's: it is given the class, or nothing for the function of the module, and all its arguments."""
    given = []

    def noted(wrapped, instance, args, kwargs):
        given.append((instance, args))
        return wrapped(*args, **kwargs)

    class Mine(psycopg.Connection):
        pass

    for owner in (psycopg, psycopg.Connection, psycopg.AsyncConnection):
        # It puts back what was there: wrapt sets the attribute itself.
        monkeypatch.setattr(owner, "connect", vars(owner)["connect"])
        wrapt.wrap_function_wrapper(owner, "connect", noted)

    def connect():
        given.clear()
        psycopg.connect(database_url).close()
        with Mine.connect(database_url) as made:
            assert type(made) is Mine
        asyncio.run(connect_async())
        return list(given)

    async def connect_async():
        await (await psycopg.AsyncConnection.connect(database_url)).close()

    bare = connect()
    seen = wrap()

    assert connect() == bare
    assert [kind for kind, _ in bare] == [psycopg.Connection, Mine, psycopg.AsyncConnection]
    assert seen.names() == ["CONNECT", "CONNECT", "CONNECT"]


PROGRAM = """
import os, sys
import psycopg
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otel_fastpath import FastpathInstrumentor

assert psycopg.pq.__impl__ == "python", psycopg.pq.__impl__
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
FastpathInstrumentor().instrument(core=sys.argv[1], psycopg="on", tracer_provider=provider)
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
    connection.execute("CREATE TEMP TABLE u (id int)")
    connection.cursor().executemany("INSERT INTO u VALUES (%s)", [(1,), (2,)])
    with connection.pipeline():
        assert connection.execute("SELECT * FROM u WHERE id = %s", [1]).fetchone() == (1,)
    with connection.transaction(), connection.cursor("mine") as cursor:
        assert len(cursor.execute("SELECT * FROM u").fetchall()) == 2
    with connection.cursor().copy("COPY u TO STDOUT") as copy:
        assert len(list(copy)) == 2
    assert len(list(connection.cursor().stream("SELECT * FROM u"))) == 2
print(*(span.name for span in exporter.get_finished_spans()), sep="\\n")
"""


def test_psycopg_in_plain_python_is_the_same(core, database_url, environ):
    """With libpq over ctypes, where the operating system has it."""
    from ctypes.util import find_library

    if find_library("pq") is None:
        pytest.skip("there is no libpq")
    environ.setenv("PSYCOPG_IMPL", "python")
    environ.setenv("DATABASE_URL", database_url)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, core],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=Path(__file__).parents[3],
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        *("CONNECT", "CREATE TABLE u", "BATCH INSERT u", "SELECT u", "BEGIN", "SELECT u", "SELECT u", "COMMIT"),
        *("COPY u", "SELECT u"),
    ]
