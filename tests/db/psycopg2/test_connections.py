"""Connections of psycopg2: connecting, with any factory, and the ends of transactions."""

from __future__ import annotations

import io
from urllib.parse import urlsplit

import many_tasks
import psycopg2
import psycopg2.extensions
import psycopg2.extras
import psycopg2.pool
import pytest


def _with_block(connection):
    with connection:
        connection.cursor().execute("SELECT 1")


def _with_error(connection):
    connection.cursor().execute("SELECT 1")
    with pytest.raises(KeyError), connection:
        raise KeyError


def _commit(connection):
    connection.commit()
    connection.cursor().execute("SELECT 1")
    connection.commit()
    connection.rollback()


TRANSACTIONS = {
    "block": (_with_block, ["SELECT", "COMMIT"]),
    "block with an error": (_with_error, ["SELECT", "ROLLBACK"]),
    "only what sends something": (_commit, ["SELECT", "COMMIT"]),
}


@pytest.mark.parametrize("kind", TRANSACTIONS)
def test_the_end_of_a_transaction_is_a_span(look, kind):
    """Of one that was begun; psycopg2's own BEGIN belongs to the query after it."""
    call, names = TRANSACTIONS[kind]

    assert look(call, autocommit=False).names() == names


def test_who_wants_no_transactions_has_none(look):
    """The option that all databases have."""
    seen = look(_commit, options="no-transactions", autocommit=False)

    assert seen.names() == ["SELECT"]


def test_two_phases_are_spans(look):
    """Where the server allows prepared transactions or not: the span is there."""

    def main(connection):
        connection.tpc_begin(connection.xid(1, "a", "b"))
        connection.cursor().execute("SELECT 1")
        try:
            connection.tpc_prepare()
        except psycopg2.Error:
            connection.tpc_rollback()
        else:
            connection.tpc_commit()

    names = look(main, autocommit=False).names()

    assert names[:3] == ["BEGIN", "SELECT", "PREPARE"]
    assert names[3:] in (["COMMIT PREPARED"], ["ROLLBACK"])


def test_connecting_is_a_span(wrap, database_url):
    """With the server's attributes from its start, also for a pool, and for who imported `connect` before."""
    early = psycopg2.connect
    seen = wrap()

    early(database_url).close()
    with pytest.raises(psycopg2.OperationalError):
        psycopg2.connect("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(psycopg2.ProgrammingError):
        psycopg2.connect("nonsense")
    pool = psycopg2.pool.ThreadedConnectionPool(1, 2, database_url)
    borrowed = pool.getconn()
    borrowed.cursor().execute("SELECT 1")
    pool.putconn(borrowed)
    pool.closeall()

    first, refused, *pooled = seen.spans()
    assert {span.name for span in (first, refused)} == {"CONNECT"}
    assert first.attributes["server.address"] == urlsplit(database_url).hostname
    assert (refused.attributes["server.port"], refused.attributes["db.namespace"]) == (1, "nothing")
    assert refused.attributes["error.type"] == "psycopg2.OperationalError"
    assert [span.name for span in pooled] == ["CONNECT", "SELECT", "ROLLBACK"]


class Connection(psycopg2.extensions.connection):
    """A connection of an application."""

    def commit(self):
        """As psycopg2's."""
        self.committed = True
        super().commit()


def connect(*args, **kwargs):
    """A factory of connections that is no class."""
    return Connection(*args, **kwargs)


CONNECTIONS = {
    "application's": Connection,
    "function": connect,
    "logging": psycopg2.extras.LoggingConnection,
    "dict": psycopg2.extras.DictConnection,
    "driver's": psycopg2.extensions.connection,
}


@pytest.mark.parametrize("kind", CONNECTIONS)
def test_a_connection_of_any_factory_is_seen(wrap, run, kind):
    """And is one of its class."""
    factory, seen = CONNECTIONS[kind], wrap()

    def main(connection):
        if isinstance(factory, type):
            assert isinstance(connection, factory)
        if kind == "logging":
            connection.initialize(io.StringIO())
        connection.cursor().execute("SELECT 1")
        connection.commit()
        assert getattr(connection, "committed", True)

    run(main, connection_factory=factory, autocommit=False)

    assert seen.names() == ["CONNECT", "SELECT", "COMMIT"]


class OwnCursors(psycopg2.extensions.connection):
    """An application's, whose method has no parameters."""

    def cursor(self):
        """A cursor with rows that are dicts."""
        return super().cursor(cursor_factory=psycopg2.extras.RealDictCursor)


@pytest.mark.parametrize(
    ("factory", "kind"),
    [
        (psycopg2.extras.DictConnection, psycopg2.extras.DictCursor),
        (psycopg2.extras.RealDictConnection, psycopg2.extras.RealDictCursor),
        (psycopg2.extras.NamedTupleConnection, psycopg2.extras.NamedTupleCursor),
        (OwnCursors, psycopg2.extras.RealDictCursor),
    ],
)
def test_a_connection_that_chooses_the_class_of_its_cursors_still_does(wrap, run, factory, kind):
    """Its own `cursor` is called as before, and the cursor is seen."""
    rows = []

    def main(connection):
        cursor = connection.cursor()
        assert isinstance(cursor, kind)
        cursor.execute("SELECT 1 AS a")
        rows.append(cursor.fetchone())

    run(main, connection_factory=factory)
    seen = wrap()
    run(main, connection_factory=factory)

    assert seen.names() == ["CONNECT", "SELECT"]
    assert rows[0] == rows[1]
    assert type(rows[0]).__name__ == type(rows[1]).__name__


def test_two_hundred_tasks_of_threads(wrap, database_url):
    """Each query has its own task's span as its parent, and its own number of rows."""
    seen = wrap("rows, no-transactions")
    connections = [psycopg2.connect(database_url) for _ in range(4)]

    many_tasks.in_threads(seen, connections, "SELECT generate_series(1, %s)")

    many_tasks.check_parents(seen.spans(), "SELECT")
    for connection in connections:
        connection.close()
