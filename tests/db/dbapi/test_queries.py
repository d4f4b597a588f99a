"""Drivers that only the stock instrumentation of the DB-API knows emit what they emit without us."""

from __future__ import annotations

import sqlite3
import sys
import threading

import pytest
from newer_releases import dbapi_metrics
from opentelemetry.instrumentation import dbapi
from opentelemetry.instrumentation.utils import suppress_instrumentation

# Since 0.63b0.
MEASURES = hasattr(dbapi.CursorTracer, "_record_metrics")
ATTRIBUTES = {"database": "name", "host": "host", "port": "port", "user": "user"}


class Connection(sqlite3.Connection):
    """A connection of a driver that has no instrumentation of its own, with what it says of its server."""

    name, host, port, user = "orders", "db.example.org", 5433, b"me"


@pytest.fixture
def connect():
    """The driver's `connect`; all connections are closed in the end."""
    made = []

    def call(name="orders"):
        made.append(sqlite3.connect(":memory:", factory=Connection, check_same_thread=False))
        made[-1].name = name
        return made[-1]

    yield call
    for each in made:
        each.close()


@pytest.fixture
def library():
    """The wrapper that is off: the one of sqlite3."""
    return "sqlite3"


@pytest.fixture
def proxied(seen, connect):
    """Connect by the stock instrumentation's proxy."""

    def call(connection=None, **given):
        return dbapi.instrument_connection(
            "theirs",
            connection or connect(),
            "sqlite",
            connection_attributes=ATTRIBUTES,
            tracer_provider=seen.tracer_provider,
            **({"meter_provider": seen.meter_provider} if MEASURES else {}),
            **given,
        )

    return call


def program(connection):
    """Queries that succeed and fail, one after the other."""
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE t (id INTEGER, v TEXT)")
    for number in range(3):
        cursor.execute("INSERT INTO t VALUES (?, ?)", (number, "x"))
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(7, "y"), (8, "z")])
    cursor.execute("/* told by sqlcommenter */ SELECT * FROM t")
    cursor.execute("SELECT '" + "x" * 100_000 + "'")
    for wrong in ("SELEC 1", "INSERT INTO t VALUES (1)", "SELEC 1"):
        with pytest.raises(sqlite3.OperationalError):
            cursor.execute(wrong)
    with suppress_instrumentation():
        cursor.execute("SELECT 2")
    cursor.close()


def compared(seen, seen_of):
    """What both see alike of spans, and of metrics but for the times."""
    points = {
        name: sorted(
            [(point.count, sorted(point.attributes.items())) for point in found], key=lambda point: str(point[1])
        )
        for name, found in seen.metrics().items()
    }
    return [seen_of(span) for span in seen.spans()], points


@pytest.mark.proves("dbapi.query")
@pytest.mark.usefixtures("opt_in")
@pytest.mark.parametrize("given", [{}, {"capture_parameters": True}, {"enable_commenter": True}], ids=str)
def test_the_telemetry_is_equal(wrap, proxied, seen, seen_of, given):
    """In each mode of its conventions, with its arguments; twice, the second time with what is known."""
    program(proxied(**given))
    spans, points = compared(seen, seen_of)
    wrap(telemetry="same", sqlite3="off")
    program(proxied(**given))
    ours, all_points = compared(seen, seen_of)

    assert ours == spans
    assert {
        name: [(2 * count, attributes) for count, attributes in found] for name, found in points.items()
    } == all_points
    assert [span[0] for span in spans].count("INSERT") == 5
    assert [span[3] for span in spans].count("ERROR") == 3


class Bytes(sqlite3.Cursor):
    """A cursor of a driver that takes bytes, too."""

    def execute(self, query, *parameters):
        """Execute the query, and keep what was given."""
        self.connection.given = query
        return super().execute(query if isinstance(query, str) else bytes(query).decode(), *parameters)


@pytest.mark.proves("dbapi.comment")
@pytest.mark.parametrize("form", [str.encode, lambda text: memoryview(text.encode())])
def test_a_query_in_bytes_has_its_comment_as_bytes(wrap, proxied, connect, form):
    """Stock sends `b'SELECT ...'`, which is a syntax error."""
    connection = connect()
    connection.cursor = lambda: Bytes(connection)
    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        proxied(enable_commenter=True, connection=connection).cursor().execute(form("SELECT 1"))
    wrap(telemetry="same", sqlite3="off")

    cursor = proxied(enable_commenter=True, connection=connection).cursor()
    cursor.execute(form("SELECT 'é', ?;"), (7,))

    assert cursor.fetchone() == ("é", 7)
    assert connection.given.startswith("SELECT 'é', ? /*".encode())
    assert connection.given.endswith(b"*/;")


def test_the_attributes_are_found_once(wrap, proxied, seen):
    """For each text."""
    asked, populate = [], dbapi.CursorTracer._populate_span.__code__

    def look(frame, event, _arg):
        if event == "call" and frame.f_code is populate:
            asked.append(frame.f_locals["args"][0])

    wrap(telemetry="same", sqlite3="off")
    cursor = proxied().cursor()
    sys.setprofile(look)
    try:
        for number in range(10):
            cursor.execute("SELECT ?", (number,))
            cursor.execute("SELECT 1")
    finally:
        sys.setprofile(None)

    assert asked == ["SELECT ?", "SELECT 1"]
    assert len(seen.spans()) == 20


def test_the_server_of_the_latest_connection_is_told(wrap, seen, connect):
    """As stock has it: connections of one integration share what it knows."""
    integration = dbapi.DatabaseApiIntegration(
        "theirs", "sqlite", connection_attributes=ATTRIBUTES, tracer_provider=seen.tracer_provider
    )
    wrap(telemetry="same", sqlite3="off")
    told = []
    for name in ("orders", "users", "orders"):
        connection = integration.wrapped_connection(connect, (), {"name": name})
        connection.cursor().execute("SELECT 1")
        told.append(seen.one().attributes["db.name"])

    assert told == ["orders", "users", "orders"]


@dbapi_metrics
def test_a_connection_to_another_server_meanwhile_is_not_kept(wrap, seen, connect, monkeypatch):
    """Another thread connects while the attributes of a text are found."""
    integration = dbapi.DatabaseApiIntegration(
        "theirs", "sqlite", connection_attributes=ATTRIBUTES, tracer_provider=seen.tracer_provider
    )
    wrap(telemetry="same", sqlite3="off")
    cursor = integration.wrapped_connection(connect, (), {}).cursor()
    set_system = dbapi._set_db_system

    def connected_elsewhere(*given):
        integration.database = "users"
        set_system(*given)

    with monkeypatch.context() as patched:
        patched.setattr(dbapi, "_set_db_system", connected_elsewhere)
        cursor.execute("SELECT 1")
    integration.database = "orders"
    cursor.execute("SELECT 1")

    assert [span.attributes["db.name"] for span in seen.spans()] == ["users", "orders"]


@pytest.mark.parametrize("text", ["", "   ", "/* nothing */"])
def test_a_text_without_a_statement_is_no_exception(wrap, proxied, seen, text):
    """Stock raises an IndexError in the application; ours names the span after the database."""
    stock = proxied().cursor()
    if text:
        with pytest.raises(IndexError):
            stock.execute(text)
    seen.spans()
    wrap(telemetry="same", sqlite3="off")
    proxied().cursor().execute(text)

    assert seen.one().name == "orders"


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_other_code_replaced_is_called(wrap, proxied, seen, monkeypatch, when):
    """A vendor's names for spans, put in before and after ours; with it gone, ours is back."""
    with monkeypatch.context() as patched:
        if when == "after":
            wrap(telemetry="same", sqlite3="off")
        patched.setattr(dbapi.CursorTracer, "get_operation_name", lambda *_: "theirs")
        if when == "before":
            wrap(telemetry="same", sqlite3="off")
        proxied().cursor().execute("SELECT 1")
        assert seen.one().name == "theirs"
    proxied().cursor().execute("SELECT 1")
    assert seen.one().name == "SELECT"


def test_a_subclass_has_its_own_way(wrap, proxied, seen):
    """Stock instrumentations of some drivers have one."""

    class Tracer(dbapi.CursorTracer):
        def get_operation_name(self, *_):
            return "theirs"

    wrap(telemetry="same", sqlite3="off")
    cursor = proxied().cursor()
    cursor._self_cursor_tracer = Tracer(cursor._self_cursor_tracer._db_api_integration)
    cursor.execute("SELECT 1")

    assert seen.one().name == "theirs"


def test_removed_nothing_is_left_but_the_spans_of_stock(wrap, proxied, seen, instrumentor):
    """On a connection that was used while ours was there."""
    wrap(telemetry="same", sqlite3="off")
    cursor = proxied().cursor()
    cursor.execute("SELECT 1")
    instrumentor.uninstrument()
    cursor.execute("SELECT 1")

    assert seen.names() == ["SELECT", "SELECT"]


def test_threads_share_an_integration(wrap, seen, connect):
    """While connections to two databases come and go, each span has a database of the two and its own text."""
    integration = dbapi.DatabaseApiIntegration(
        "theirs", "sqlite", connection_attributes=ATTRIBUTES, tracer_provider=seen.tracer_provider
    )
    wrap(telemetry="same", sqlite3="off")

    def work(name):
        for number in range(100):
            cursor = integration.wrapped_connection(connect, (), {"name": name}).cursor()
            cursor.execute(f"SELECT {number % 7}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("orders", "users") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    spans = seen.spans()
    assert len(spans) == 400
    assert {span.attributes["db.name"] for span in spans} == {"orders", "users"}
    assert len({span.attributes["db.statement"] for span in spans}) == 7
