"""What an application sees of psycopg is the same: signatures, kinds of functions, types, where errors are raised."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path

import psycopg
import psycopg_pool
import pytest
import wrapt

CLASSES = (
    *(psycopg.Connection, psycopg.AsyncConnection, psycopg.Cursor, psycopg.AsyncCursor, psycopg.ServerCursor),
    *(psycopg.AsyncServerCursor, psycopg.Transaction, psycopg.AsyncTransaction, psycopg.Pipeline),
    *(psycopg.AsyncPipeline, psycopg.ClientCursor, psycopg.RawCursor, psycopg_pool.ConnectionPool),
    psycopg_pool.AsyncConnectionPool,
)


def attributes():
    """Every attribute of psycopg's module and classes but its counters, raw."""
    return {
        (owner, name): value
        for owner in (*CLASSES, psycopg)
        for name, value in vars(owner).items()
        if not isinstance(value, int)
    }


def described(value):
    """What can be asked of a function."""
    function = getattr(value, "__func__", value)
    return (
        type(value),
        inspect.signature(function),
        inspect.iscoroutinefunction(function),
        inspect.isgeneratorfunction(function),
        inspect.isasyncgenfunction(function),
        function.__name__,
        function.__qualname__,
        function.__doc__,
        function.__module__,
    )


def test_functions_look_the_same(wrap):
    """Each that is replaced: its signature, names, text, and whether it is a coroutine or generator function."""
    before = attributes()
    told = {
        place: described(value)
        for place, value in before.items()
        if inspect.isfunction(getattr(value, "__func__", value))
    }
    wrap()

    replaced = {place: value for place, value in attributes().items() if value is not before.get(place)}

    assert len(replaced) > 40
    assert [place for place, value in replaced.items() if place in told and described(value) != told[place]] == []


def test_nothing_is_left(wrap, instrumentor, run):
    """After `uninstrument()` each attribute of psycopg is the very same object as before."""
    before = attributes()
    wrap()
    run(lambda connection: connection.execute("SELECT 1"))
    instrumentor.uninstrument()

    after = attributes()

    assert after.keys() == before.keys()
    assert [place for place in before if after[place] is not before[place]] == []


@pytest.mark.parametrize("name", ["execute", "stream", "copy", "executemany"])
def test_somebody_on_top_stays_and_nothing_is_seen(wrap, instrumentor, run, monkeypatch, name):
    """Wrapped by others meanwhile, ours is inert below them."""
    seen = wrap()
    below = getattr(psycopg.Cursor, name)
    calls = []

    def method(self, *args, **kwargs):
        calls.append(args)
        return below(self, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, name, method)
    instrumentor.uninstrument()

    def main(connection):
        cursor = connection.cursor()
        cursor.execute("SELECT 1")
        assert list(cursor.stream("SELECT 1")) == [(1,)]
        cursor.executemany("SELECT %s::int", [(1,)])
        with cursor.copy("COPY (SELECT 1) TO STDOUT") as copy:
            assert list(copy) == [b"1\n"]

    run(main)

    assert len(calls) == 1
    assert seen.spans() == ()


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


@pytest.mark.parametrize("kind", ["str", "bytes", "sql", "raw"])
def test_comments_carry_the_trace(look, kind):
    """For who asked: the server sees the query's own span; a percent sign is no placeholder."""
    from opentelemetry import trace
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

    query = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() -- mine"
    made = {"str": query, "bytes": query.encode(), "sql": psycopg.sql.SQL(query), "raw": query}[kind]
    state = TraceState([("congo", "t61*")])
    parent = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=state))
    texts = []

    def main(connection):
        cursor = psycopg.RawCursor(connection) if kind == "raw" else connection.cursor()
        with trace.use_span(parent):
            texts.append(cursor.execute(made).fetchone()[0])
            texts.append(cursor.execute(query=made, params=()).fetchone()[0])

    spans = look(main, options="sqlcommenter").spans()

    for text, span in zip(texts, spans, strict=True):
        header = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"
        assert text.endswith(f"-- mine\n/*traceparent='{header}',tracestate='congo%3Dt61%2A'*/")
        assert "traceparent" not in span.attributes["db.query.text"]


def test_bad_options_are_a_line_each(wrap, logged):
    """What is understood holds."""
    wrap("rows, no-metric")
    (line,) = logged()
    assert line.startswith(
        "OTEL_FASTPATH_PSYCOPG_OPTIONS (psycopg_options=): 'no-metric' is not valid; expected any of "
    )


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
