"""Every operation is seen, once: its span, its attributes, its metrics."""

from __future__ import annotations

import asyncio
import threading
from urllib.parse import urlsplit

import psycopg
import pytest
from contracts.databases import Operations
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode
from psycopg import sql
from psycopg.rows import dict_row

DURATION = "db.client.operation.duration"


def test_a_query_is_a_child_of_the_current_span(look, seen):
    """And the current span itself while psycopg runs; then it is as before."""
    current = []

    class Dumper(psycopg.adapt.Dumper):
        def dump(self, obj):
            current.append(trace.get_current_span())
            return str(obj).encode()

    def main(connection):
        connection.adapters.register_dumper(int, Dumper)
        with seen.tracer_provider.get_tracer("test").start_as_current_span("request"):
            connection.execute("SELECT %s", (7,))
            assert trace.get_current_span().name == "request"

    query, request = look(main).spans()

    assert query.parent.span_id == request.context.span_id
    assert [span.get_span_context() for span in current] == [query.context]


METHODS = {
    "execute": (lambda c: c.execute("SELECT * FROM t"), "SELECT t"),
    "execute with parameters": (lambda c: c.execute("DELETE FROM t WHERE id = %s", [1]), "DELETE t"),
    "execute by keyword": (lambda c: c.cursor().execute(query="UPDATE t SET v = 'x'"), "UPDATE t"),
    "execute with names": (
        lambda c: c.execute("SELECT * FROM t WHERE v = %(select)s", {"select": "x"}),
        "SELECT t",
    ),
    "execute bytes": (lambda c: c.execute(b"SELECT * FROM t"), "SELECT t"),
    "execute composed": (
        lambda c: c.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier("t"))),
        'SELECT "t"',
    ),
    "execute prepared": (lambda c: c.execute("SELECT * FROM t", prepare=True), "SELECT t"),
    "execute binary": (lambda c: c.execute("SELECT * FROM t", binary=True), "SELECT t"),
    "execute several": (lambda c: c.execute("SELECT 1; DELETE FROM t"), "SELECT DELETE t"),
    "client cursor": (
        lambda c: _cursor(c, "ClientCursor").execute("SELECT * FROM t WHERE v = %s", ["x"]),
        "SELECT t",
    ),
    "raw cursor": (lambda c: _cursor(c, "RawCursor").execute("SELECT * FROM t WHERE v = $1", ["x"]), "SELECT t"),
    "executemany": (
        lambda c: c.cursor().executemany("INSERT INTO t VALUES (%s)", [(11,), (12,)]),
        "BATCH INSERT t",
    ),
    "executemany by keyword": (
        lambda c: c.cursor().executemany(query="INSERT INTO t VALUES (%s)", params_seq=[(11,), (12,)]),
        "BATCH INSERT t",
    ),
    "executemany of one": (lambda c: c.cursor().executemany("INSERT INTO t VALUES (%s)", [(11,)]), "INSERT t"),
    "executemany of a generator": (
        lambda c: c.cursor().executemany("INSERT INTO t VALUES (%s)", ((i,) for i in (11, 12))),
        "BATCH INSERT t",
    ),
    "executemany returning": (
        lambda c: c.cursor().executemany("SELECT * FROM t WHERE id < %s", [(2,), (4,)], returning=True),
        "BATCH SELECT t",
    ),
    "listen": (lambda c: c.execute("LISTEN orders"), "LISTEN orders"),
    "commit of nothing, execute": (lambda c: c.execute("SHOW search_path"), "SHOW search_path"),
}


def _cursor(connection, kind):
    prefix = "Async" if isinstance(connection, psycopg.AsyncConnection) else ""
    return getattr(psycopg, f"{prefix}{kind}")(connection)


NUMBERS = {
    "query": (lambda c: c.execute("SELECT * FROM t WHERE id < %s", [4]), 3),
    "no rows": (lambda c: c.execute("SELECT * FROM t WHERE id < %s", [0]), 0),
    "change": (lambda c: c.execute("UPDATE t SET v = 'x'"), None),
    "returning": (lambda c: c.execute("UPDATE t SET v = 'x' RETURNING id"), 10),
    "two": (lambda c: c.execute("SELECT * FROM t; SELECT 1"), 11),
    "many": (
        lambda c: c.cursor().executemany("SELECT * FROM t WHERE id < %s", [(2,), (4,)], returning=True),
        4,
    ),
}


@pytest.mark.proves(
    "psycopg.cursor.execute",
    "psycopg.async_cursor.execute",
    "psycopg.cursor.executemany",
    "psycopg.async_cursor.executemany",
)
class TestOperations(Operations):
    """Of each kind of connection and cursor."""

    methods = METHODS
    numbers = NUMBERS
    batches = {"executemany": 2}
    killed = (psycopg.OperationalError, {"57P01"})

    def process(self, connection):
        """As psycopg knows it."""
        return connection.info.backend_pid

    def ask(self, connection, text, *values):
        """With `execute` of the connection."""
        return connection.execute(text, values or None)

    def ask_by_name(self, connection):
        """They have."""
        return connection.execute("SELECT %(a)s::text", {"a": "x"})


def test_notifications_make_no_spans(look):
    """They are received; LISTEN and NOTIFY are queries."""
    told = []

    def main(connection):
        connection.execute("LISTEN orders")
        connection.execute("NOTIFY orders, 'hello'")
        told.extend(notify.payload for notify in connection.notifies(timeout=5, stop_after=1))

    assert look(main).names() == ["LISTEN orders", "NOTIFY orders"]
    assert told == ["hello"]


TEXTS = ["", "   ", "-- nothing", "/* nothing */", "/* a */ -- b\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_without_a_statement_is_no_error(look_both, text, database_url):
    """With the stock instrumentation, it is an IndexError in the application. The empty one is a pool's check."""
    names = look_both(lambda c: c.execute(text)).names()

    assert names == ([urlsplit(database_url).path[1:]] if text else [])


def test_composed_literals_do_not_leave(look):
    """Those that psycopg puts in the text itself."""

    def main(connection):
        connection.execute(sql.SQL("SELECT {}, {} FROM t").format(sql.Literal("secret"), sql.Literal(4711)))
        connection.execute("SELECT 'secret' FROM t", ())

    composed, empty = look(main).spans()

    assert composed.attributes["db.query.text"] == "SELECT ?, ? FROM t"
    assert empty.attributes["db.query.text"] == "SELECT ? FROM t"
    assert "secret" not in composed.to_json() + empty.to_json()


def test_rows_of_any_factory_are_the_applications(look):
    """What a query returns is psycopg's own cursor."""

    def main(connection):
        cursor = connection.cursor(row_factory=dict_row)
        assert cursor.execute("SELECT 1 AS a") is cursor
        assert cursor.fetchone() == {"a": 1}
        assert type(cursor) is psycopg.Cursor
        assert not hasattr(cursor, "callproc")

    look(main)


@pytest.mark.proves("psycopg.connect", "psycopg.connect.class", "psycopg.connect.async")
def test_connecting_is_a_span(wrap, run_async, database_url):
    """With the server's attributes from its start, by whatever name psycopg's function is called."""
    seen = wrap()

    async def main(_connection):
        for connect in (psycopg.connect, psycopg.Connection.connect):
            connect(database_url).close()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect("postgresql://nobody@127.0.0.1:1/nothing")
        with pytest.raises(psycopg.OperationalError):
            await psycopg.AsyncConnection.connect(host="127.0.0.1", port=1, dbname="nothing")
        with pytest.raises(psycopg.ProgrammingError):
            psycopg.connect("nonsense")

    run_async(main)

    first, second, third, refused, async_refused, wrong = seen.spans()
    assert {span.name for span in (first, second, third, refused, wrong)} == {"CONNECT"}
    assert first.attributes["server.address"] == urlsplit(database_url).hostname
    for span in (refused, async_refused):
        assert (span.attributes["server.port"], span.attributes["db.namespace"]) == (1, "nothing")
        assert span.attributes["error.type"] == "psycopg.OperationalError"
    assert wrong.status.status_code is StatusCode.ERROR


def test_a_connection_from_before_is_seen(wrap, run):
    """One that was made when nothing was wrapped, with whatever cursor factory."""
    sink = []

    class Mine(psycopg.Cursor):
        pass

    def main(connection):
        connection.execute("SELECT 1")
        sink.append(wrap())
        connection.execute("SELECT 2")
        connection.cursor_factory = Mine
        connection.execute("SELECT 3")

    run(main)

    assert sink[0].names() == ["SELECT", "SELECT"]


def durations_of(seen, summary):
    """The number of durations of the queries with this summary."""
    return sum(point.count for point in seen.metrics()[DURATION] if point.attributes["db.query.summary"] == summary)


NO_SPANS = {"no tracer": trace.NoOpTracerProvider, "not sampled": lambda: TracerProvider(sampler=ALWAYS_OFF)}


@pytest.mark.parametrize("kind", NO_SPANS)
def test_threads_without_spans_lose_no_duration(seen, look, kind):
    """They share a connection, and have the same current span."""
    seen.tracer_provider = NO_SPANS[kind]()

    def main(connection):
        def repeat():
            for _ in range(5):
                connection.execute("SELECT pg_sleep(0.002)")

        threads = [threading.Thread(target=repeat) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    assert durations_of(look(main), "SELECT") == 20


@pytest.mark.parametrize("kind", NO_SPANS)
def test_tasks_without_spans_lose_no_duration(seen, look_async, kind):
    """Likewise, below the span of a request, which they all have as the current one."""
    requests = seen.tracer_provider.get_tracer("test")
    seen.tracer_provider = NO_SPANS[kind]()

    async def main(connection):
        with requests.start_as_current_span("request"):
            await asyncio.gather(*(connection.execute("SELECT pg_sleep(0.002)") for _ in range(10)))

    assert durations_of(look_async(main), "SELECT") == 10


@pytest.mark.parametrize("by_name", [False, True], ids=["by position", "by name"])
def test_many_parameters_leave_room_for_the_other_attributes(look, by_name, caplog):
    """A span has at most 128 attributes."""
    names = [f"p{number}" for number in range(300)]
    marks = ", ".join(f"%({name})s" if by_name else "%s" for name in names)
    given = dict.fromkeys(names, 1) if by_name else [1] * 300

    attributes = look(lambda c: c.execute(f"SELECT 1 WHERE 1 IN ({marks})", given), "parameters").one().attributes

    assert attributes["db.query.text"].startswith("SELECT 1 WHERE 1 IN (")
    assert attributes["db.system.name"] == "postgresql"
    assert sum(key.startswith("db.query.parameter.") for key in attributes) == 100
    assert caplog.records == []
