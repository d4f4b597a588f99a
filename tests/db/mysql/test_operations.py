"""Every operation is seen, once: its span, its attributes, its metrics, and what went wrong."""

from __future__ import annotations

import threading

import many_tasks
import pytest
from opentelemetry.trace import SpanKind, StatusCode

DURATION = "db.client.operation.duration"


def test_a_query_has_the_stable_conventions_attributes(look, mariadb, library):
    """At its creation; the port because it is not 3306; parameterised text as it is."""
    text = "SELECT id, v FROM t WHERE v <> 'x' AND id < %s"
    seen = look(lambda connection: connection.cursor().execute(text, (4,)), options="rows,parameters")

    span = seen.one()
    assert (span.name, span.kind, span.status.status_code) == ("SELECT t", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "db.system.name": "mysql",
        "db.namespace": "test",
        "server.address": "127.0.0.1",
        "server.port": mariadb.port,
        "db.query.text": text,
        "db.query.summary": "SELECT t",
        "db.query.parameter.0": "4",
        "db.response.returned_rows": 3,
    }
    assert span.instrumentation_scope.name == f"otel_fastpath.{library}"


def test_a_slow_query_has_its_parameters(look):
    """Passed as a tuple, by name, or one alone; a batch has none."""

    def main(connection):
        cursor = connection.cursor()
        cursor.execute("SELECT %s, %s", (7, "text"))
        cursor.execute("SELECT %(a)s", {"a": 7})
        cursor.executemany("DELETE FROM t WHERE id = %s", [(1,), (2,)])

    spans = look(main, options="slow=1us").spans()
    assert [span.attributes["otel_fastpath.db.slow"] for span in spans] == [True] * 3
    assert [[value for key, value in span.attributes.items() if "parameter" in key] for span in spans] == [
        ["7", "text"],
        ["7"],
        [],
    ]


METHODS = {
    "execute": (lambda c: c.execute("SELECT * FROM t"), "SELECT t"),
    "execute by keyword": (lambda c: c.execute(query="UPDATE t SET v = %s", args=["x"]), "UPDATE t"),
    "execute with names": (lambda c: c.execute("SELECT * FROM t WHERE v = %(select)s", {"select": "x"}), "SELECT t"),
    "execute with quoted names": (lambda c: c.execute('SELECT * FROM `t` WHERE v = "secret"'), "SELECT"),
    "after a comment": (lambda c: c.execute("-- a comment\nSELECT * FROM t"), "SELECT t"),
    "executemany of values": (
        lambda c: c.executemany("INSERT INTO t (id) VALUES (%s)", [(11,), (12,)]),
        "BATCH INSERT t",
    ),
    "executemany of statements": (
        lambda c: c.executemany("UPDATE t SET v = %s WHERE id = 1", [("a",), ("b",)]),
        "BATCH UPDATE t",
    ),
    "executemany of one": (lambda c: c.executemany("DELETE FROM t WHERE id = %s", [(1,)]), "DELETE t"),
    "callproc": (lambda c: c.callproc("p", (1,)), "CALL p"),
}


@pytest.mark.proves("pymysql.execute*", "pymysql.callproc", "mysqlclient.execute*", "mysqlclient.callproc")
@pytest.mark.parametrize("kind", ["Cursor", "DictCursor", "SSCursor"])
@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_one_span(look, driver, method, kind):
    """Of each class of cursors; what the driver executes inside it is no span of its own."""
    call, name = METHODS[method]
    factory = getattr(driver.cursors, kind)

    def main(connection):
        cursor = connection.cursor(factory)
        call(cursor)
        while method == "callproc" and cursor.nextset():
            pass
        cursor.close()

    seen = look(main)

    span = seen.one()
    assert (span.name, span.status.status_code) == (name, StatusCode.UNSET)
    assert "secret" not in str(dict(span.attributes))
    durations = {point.attributes["db.query.summary"]: point.count for point in seen.metrics()[DURATION]}
    assert durations[span.name] == 1


@pytest.mark.proves("pymysql.begin", "pymysql.commit", "pymysql.rollback")
@pytest.mark.proves("mysqlclient.begin", "mysqlclient.commit", "mysqlclient.rollback")
def test_transactions_are_spans(look):
    """Each command that is sent."""

    def main(connection):
        connection.begin()
        connection.cursor().execute("DELETE FROM t WHERE id = 1")
        connection.rollback()
        connection.commit()

    assert look(main, autocommit=False).names() == ["BEGIN", "DELETE t", "ROLLBACK", "COMMIT"]


def test_who_wants_no_transactions_has_none(look):
    """The option that all databases have."""
    assert look(lambda connection: connection.commit(), options="no-transactions").names() == []


@pytest.mark.proves("pymysql.connect", "mysqlclient.connect")
def test_connecting_is_a_span(wrap, connect, driver, mariadb):
    """With the server's attributes, also one that is refused; of a Unix socket, its path."""
    seen = wrap()

    connect()
    with pytest.raises(driver.OperationalError):
        connect(user="nobody", password="secret")  # noqa: S106  # no password
    connect(host="localhost", unix_socket=mariadb.path).cursor().execute("SELECT 1")

    first, refused, local, query = seen.spans()
    assert {span.name for span in (first, refused, local)} == {"CONNECT"}
    assert (first.attributes["server.address"], first.attributes["server.port"]) == ("127.0.0.1", mariadb.port)
    assert refused.attributes["error.type"] == refused.attributes["db.response.status_code"]
    assert (refused.status.description, refused.attributes["db.namespace"]) == ("OperationalError", "test")
    assert query.name == "SELECT"
    assert "server.port" not in query.attributes


ERRORS = {
    "syntax": ("SELEC 'secret'", None, "ProgrammingError", "1064"),
    "no table": ("SELECT 'secret' FROM nothing", None, "ProgrammingError", "1146"),
    "unique": ("INSERT INTO t VALUES (%s, 'secret')", (1,), "IntegrityError", "1062"),
    "placeholder": ("SELECT %s, %s", (1,), None, None),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_told(look, driver, kind):
    """Its number, in the span and in the metric; the status has no value of a row."""
    text, parameters, name, number = ERRORS[kind]

    def main(connection):
        with pytest.raises(getattr(driver, name) if name else (TypeError, driver.ProgrammingError)):
            connection.cursor().execute(text, parameters)

    seen = look(main)

    span = seen.one()
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes.get("db.response.status_code") == number
    assert number is None or (span.attributes["error.type"], span.status.description) == (number, name)


@pytest.mark.parametrize("text", ["/* a comment */", "-- a comment"])
def test_a_text_without_a_statement_is_no_error(look, text):
    """With the stock instrumentation, the application gets an IndexError instead."""
    span = look(lambda connection: connection.cursor().execute(text)).one()

    assert (span.name, span.status.status_code) == ("test", StatusCode.UNSET)


def test_an_empty_text_is_the_servers_to_refuse(look, driver):
    """Likewise."""

    def main(connection):
        with pytest.raises(driver.Error):
            connection.cursor().execute("  ")

    assert look(main).one().attributes["error.type"] == "1065"


def test_a_closed_cursor_is_the_drivers_to_refuse(look, driver):
    """It has no connection that could be asked."""

    def main(connection):
        cursor = connection.cursor()
        cursor.close()
        with pytest.raises((driver.Error, AttributeError, TypeError)):
            cursor.execute("SELECT 1")
        with pytest.raises((driver.Error, AttributeError, TypeError)):
            cursor.executemany("SELECT %s", [(1,), (2,)])

    look(main)


def test_a_connection_that_is_killed_is_told(look, connect, driver):
    """By the server, in the middle of a query; a new connection works."""

    def main(connection):
        killer = connect(autocommit=True).cursor()
        timer = threading.Timer(0.3, killer.execute, (f"KILL {connection.thread_id()}",))
        timer.start()
        with pytest.raises(driver.Error):
            connection.cursor().execute("SELECT SLEEP(30)")
        timer.join()
        connect().cursor().execute("SELECT 1")

    (span,) = [span for span in look(main).spans() if span.status.status_code is StatusCode.ERROR]

    assert (span.name, span.status.description) in {("SELECT", "OperationalError"), ("SELECT", "InterfaceError")}
    # "Lost connection", "server has gone away", "query execution was interrupted", "connection was killed"
    assert span.attributes["error.type"] in {"2013", "2006", "1317", "1927"}


def test_an_error_of_the_driver_has_no_number(look, driver):
    """PyMySQL gives its own the number 0, which is none."""

    def main(connection):
        cursor = connection.cursor()
        connection.close()
        with pytest.raises(driver.Error) as raised:
            cursor.execute("SELECT 1")
        names.append(f"{type(raised.value).__module__}.{type(raised.value).__qualname__}")

    names = []
    spans = look(main).spans()

    [span] = spans
    assert span.status.status_code is StatusCode.ERROR
    # mysqlclient's own have a number of the client's library: the server has gone away.
    number = None if driver.__name__ == "pymysql" else "2006"
    assert span.attributes["error.type"] == (number or names[0])
    assert span.attributes.get("db.response.status_code") == number


def test_comments_carry_the_trace(look):
    """For who asked; a percent sign is no placeholder."""
    texts = []

    def main(connection):
        cursor = connection.cursor()
        for parameters in (None, ("x",)):
            text = "SELECT info, 1 FROM information_schema.processlist WHERE id = connection_id()"
            cursor.execute(text if parameters is None else f"{text} AND 'x' = %s", parameters)
            texts.append(cursor.fetchall()[0][0])

    spans = look(main, options="sqlcommenter").spans()

    for text, span in zip(texts, spans, strict=True):
        header = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"
        assert text.endswith(f" /*traceparent='{header}'*/")


def test_connections_from_before_are_seen_and_nothing_is_left(wrap, connect, driver, instrumentor):
    """The classes themselves are patched; `uninstrument` restores the same objects."""
    owners = (driver.cursors.Cursor, *driver.cursors.Cursor.__mro__[:-1], driver.connections.Connection)

    def attributes():
        return {(owner, name): value for owner in owners for name, value in vars(owner).items()}

    before = attributes()
    connection = connect()
    seen = wrap()
    connection.cursor().execute("SELECT 1")
    assert seen.names() == ["SELECT"]
    instrumentor.uninstrument()
    connection.cursor().execute("SELECT 2")

    after = attributes()
    assert seen.spans() == ()
    assert after.keys() == before.keys()
    assert [place for place in before if after[place] is not before[place]] == []


@pytest.mark.usefixtures("table")
def test_two_hundred_tasks_of_threads(wrap, connect):
    """Each query has its own task's span as its parent, and its own number of rows."""
    seen = wrap("rows, no-transactions")
    connections = [connect() for _ in range(4)]

    many_tasks.in_threads(seen, connections, "SELECT id FROM t WHERE id <= %s")

    many_tasks.check_parents(seen.spans(), "SELECT t")
