"""Every operation is seen, once: its span, its attributes, its metrics, and what went wrong."""

from __future__ import annotations

import sqlite3

import pytest
from opentelemetry.trace import SpanKind, StatusCode


def test_a_query_has_the_stable_conventions_attributes(look):
    """At its creation; parameterised text as it is; parameters for who asked."""
    text = "SELECT id, v FROM t WHERE v <> 'x' AND id < ?"
    span = look(lambda connection: connection.execute(text, (4,)), options="parameters").one()

    assert (span.name, span.kind, span.status.status_code) == ("SELECT t", SpanKind.CLIENT, StatusCode.UNSET)
    assert dict(span.attributes) == {
        "db.system.name": "sqlite",
        "db.namespace": ":memory:",
        "db.query.text": text,
        "db.query.summary": "SELECT t",
        "db.query.parameter.0": "4",
    }
    assert span.instrumentation_scope.name == "otel_fastpath.sqlite3"


METHODS = {
    "execute": (lambda c: c.execute("SELECT * FROM t"), "SELECT t"),
    "execute with names": (lambda c: c.execute("SELECT * FROM t WHERE v = :v", {"v": "x"}), "SELECT t"),
    "executemany": (lambda c: c.executemany("INSERT INTO t (id) VALUES (?)", [(11,), (12,)]), "BATCH INSERT t"),
    "executemany of one": (lambda c: c.executemany("DELETE FROM t WHERE id = ?", [(1,)]), "DELETE t"),
    "executescript": (lambda c: c.executescript("DELETE FROM t; SELECT 1"), "DELETE t SELECT"),
    "after a comment": (lambda c: c.execute("-- a comment\nSELECT 'secret' FROM t"), "SELECT t"),
    "comment only": (lambda c: c.execute("/* a comment */"), ":memory:"),
    "spaces only": (lambda c: c.execute("   "), ":memory:"),
}


class Connection(sqlite3.Connection):
    """A connection of an application, whose methods are its own."""

    def execute(self, *args):
        """As sqlite3's."""
        return super().execute(*args)


class Cursor(sqlite3.Cursor):
    """A cursor of an application."""


def made(*args, **kwargs):
    """A factory that is no class."""
    return Connection(*args, **kwargs)


OWNERS = {
    "connection": (lambda c: c, {}),
    "own connection": (lambda c: c, {"factory": Connection}),
    "made by a function": (lambda c: c, {"factory": made}),
    "cursor": (lambda c: c.cursor(), {}),
    "own cursor": (lambda c: c.cursor(Cursor), {}),
    "own cursor by keyword": (lambda c: c.cursor(factory=Cursor), {}),
    "cursor of execute": (lambda c: c.execute("SELECT 1"), {}),
}


@pytest.mark.proves("sqlite3.connect", "sqlite3.dbapi2.connect")
@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_one_span(look, method, owner):
    """Of connections and cursors of any class; with the stock instrumentation, only of `connection.cursor()`."""
    call, name = METHODS[method]
    take, settings = OWNERS[owner]

    def main(connection):
        found = call(take(connection))
        assert isinstance(found, sqlite3.Cursor)

    seen = look(main, isolation_level=None, **settings)

    *before, span = seen.spans()
    assert [each.name for each in before] == (["SELECT"] if owner == "cursor of execute" else [])
    assert (span.name, span.status.status_code) == (name, StatusCode.UNSET)
    assert "secret" not in str(dict(span.attributes))


def _block(connection):
    with connection:
        connection.execute("DELETE FROM t")


def _failing_block(connection):
    with pytest.raises(KeyError), connection:
        _raise_after(connection)


def _raise_after(connection):
    connection.execute("DELETE FROM t")
    raise KeyError


def _commit(connection):
    connection.commit()
    connection.execute("DELETE FROM t")
    connection.commit()
    connection.rollback()


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (_block, ["DELETE t", "COMMIT"]),
        (_failing_block, ["DELETE t", "ROLLBACK"]),
        (_commit, ["DELETE t", "COMMIT"]),
    ],
)
def test_the_end_of_a_transaction_is_a_span(look, call, names):
    """Of one that was begun."""
    assert look(call).names() == names


def test_connecting_is_a_span(wrap, tmp_path, connect):
    """With the path; also one that fails."""
    seen = wrap()

    connect(tmp_path / "a")
    with pytest.raises(sqlite3.OperationalError):
        connect(str(tmp_path / "no" / "folder"))

    first, failed = seen.spans()
    assert (first.name, first.attributes["db.namespace"]) == ("CONNECT", str(tmp_path / "a"))
    assert failed.attributes["error.type"] in {"SQLITE_CANTOPEN", "sqlite3.OperationalError"}


QUOTED = {
    "a value": ('SELECT * FROM t WHERE v = "secret"', "SELECT * FROM t WHERE v = ?"),
    "values": ('INSERT INTO t (v) VALUES ("secret"), ("a ""secret""")', "INSERT INTO t (v) VALUES (?), (?)"),
    "a setting": ("PRAGMA key = \"x'5ec3e7'\"", "PRAGMA key = ?"),
    "a table": ('SELECT "t".id FROM "t" WHERE v = "secret"', 'SELECT "t".id FROM "t" WHERE v = ?'),
    "a table of a schema": ('SELECT * FROM main."t" WHERE v = "secret"', 'SELECT * FROM main."t" WHERE v = ?'),
}


@pytest.mark.parametrize("kind", QUOTED)
def test_what_is_in_double_quotes_may_be_a_value(look, kind):
    """SQLite takes it for a string if there is no such column: only the names of tables are recorded."""
    text, recorded = QUOTED[kind]

    span = look(lambda connection: connection.execute(text)).one()

    assert (span.attributes["db.query.text"], span.status.status_code) == (recorded, StatusCode.UNSET)
    assert "secret" not in span.name


def test_the_parameters_of_a_uri_are_not_told(wrap, connect):
    """One of them may be a key."""
    seen = wrap()

    connect("file:secrets?mode=memory&key=secret", uri=True).execute("SELECT 1")

    assert [span.attributes["db.namespace"] for span in seen.spans()] == ["file:secrets"] * 2


def test_what_sqlite3_refuses_is_its_error(look):
    """Values without an adapter, a closed connection."""

    def main(connection):
        with pytest.raises((sqlite3.ProgrammingError, sqlite3.InterfaceError, TypeError)):
            connection.execute("SELECT ?", (object(),))
        connection.close()
        with pytest.raises(sqlite3.ProgrammingError):
            connection.execute("SELECT 1")
        with pytest.raises(sqlite3.ProgrammingError):
            connection.commit()

    look(main)


def test_sqlite3_accepts_its_connections(look, tmp_path):
    """With the stock instrumentation's proxies, these raise TypeError."""

    def main(connection):
        cursor = sqlite3.Cursor(connection)
        assert cursor.execute("SELECT 1").fetchone() == (1,)
        target = sqlite3.connect(tmp_path / "copy")
        connection.backup(target)
        target.backup(connection)
        target.close()
        assert connection.cursor().connection is connection
        for call in (
            connection.execute,
            lambda: connection.cursor(7),
            lambda: connection.cursor(nonsense=1),
            lambda: connection.executemany("SELECT 1"),
        ):
            with pytest.raises(TypeError):
                call()

    look(main)


def test_uninstrumented_nothing_is_seen(wrap, connect, instrumentor):
    """On a connection that was seen before; the same functions are there."""
    before = (sqlite3.connect, sqlite3.dbapi2.connect)
    seen = wrap()
    connection = connect()
    seen.spans()
    instrumentor.uninstrument()

    assert (sqlite3.connect, sqlite3.dbapi2.connect) == before
    assert connection.execute("SELECT 7").fetchone() == (7,)
    assert seen.spans() == ()
    wrap()
    assert connection.execute("SELECT 7").fetchone() == (7,)
    assert seen.names() == ["SELECT"]


def test_a_connection_looks_the_same(look):
    """Its class's name, module and attributes."""

    def main(connection):
        for each, kind in ((connection, sqlite3.Connection), (connection.cursor(), sqlite3.Cursor)):
            assert type(each).__name__ == kind.__name__
            assert type(each).__module__ == kind.__module__
            assert type(each).__doc__ == kind.__doc__
            assert not hasattr(each, "__dict__")
            assert {name for name in dir(each) if "otel_fastpath" not in name} == {*dir(kind), "__slots__"}

    look(main)


def test_a_connection_that_chooses_the_class_of_its_cursors_still_does(wrap):
    """Its own `cursor` is called as before, and the cursor is seen."""

    class Cursor(sqlite3.Cursor):
        pass

    class Connection(sqlite3.Connection):
        def cursor(self):
            return super().cursor(Cursor)

    seen = wrap()
    connection = sqlite3.connect(":memory:", factory=Connection)
    cursor = connection.cursor()

    assert isinstance(cursor, Cursor)
    assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    assert seen.names() == ["CONNECT", "SELECT"]
    connection.close()
