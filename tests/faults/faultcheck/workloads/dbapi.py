"""psycopg2 and PyMySQL on real servers: queries, batches, procedures, transactions, errors, with each option."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from faultcheck.workloads.drivers import Drivers, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultcheck.host import Host


class _DBAPI(Drivers):
    """What the two have in common."""

    #: Makes the table.
    create = "CREATE TEMPORARY TABLE t (id int PRIMARY KEY, v text)"

    def _steps(self, connection: Any) -> dict[str, Callable[[], Any]]:
        return {
            "create": lambda: self._executed(connection, self.create),
            "insert": lambda: self._executed(connection, "INSERT INTO t VALUES (%s, %s)", (1, "a")),
            "many": lambda: self._many(connection),
            "select": lambda: self._executed(connection, "SELECT id, v FROM t WHERE id < %s ORDER BY id", (9,)),
            "again": lambda: self._executed(connection, "SELECT id, v FROM t WHERE id < %s ORDER BY id", (9,)),
            "named": lambda: self._executed(connection, "SELECT v FROM t WHERE id = %(id)s", {"id": 1}),
            "iterated": lambda: self._iterated(connection),
            "commit": connection.commit,
            "rolled back": lambda: self._rolled_back(connection),
            "syntax error": lambda: self._executed(connection, "SELEC 1"),
            "after that": connection.rollback,
            "no such table": lambda: self._executed(connection, "SELECT * FROM gone"),
            "and that": connection.rollback,
            "odd text": lambda: self._executed(connection, None),
            "bad arguments": lambda: self._executed(connection, "SELECT %s", ()),
            "within": lambda: self.within(lambda: self._executed(connection, "SELECT 2")),
        }

    def _executed(self, connection: Any, *query: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(*query)
            return cursor.rowcount, cursor.fetchall() if cursor.description else None

    def _many(self, connection: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO t VALUES (%s, 'm')", [(2,), (3,)])
            return cursor.rowcount

    def _iterated(self, connection: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM t ORDER BY id")
            return [row[0] for row in cursor], cursor.fetchone()

    def _rolled_back(self, connection: Any) -> Any:
        self._executed(connection, "INSERT INTO t VALUES (7, 'r')")
        connection.rollback()
        return self._executed(connection, "SELECT count(*) FROM t WHERE id = 7")


class Psycopg2(_DBAPI):
    """psycopg2's connections, cursors of any factory, batches of its extras, COPY, and asynchronous connections."""

    about = ("otel_fastpath/db/psycopg2/", "otel_fastpath/db/derived.py")
    settings = {"psycopg2_options": "parameters,rows,sqlcommenter"}  # read only

    def run(self, host: Host) -> None:
        """On a connection of its own."""
        import psycopg2
        import psycopg2.extras

        connection = host.step("connect", psycopg2.connect, self.database_url)
        if connection is not None:
            steps = self._steps(connection) | {
                "pages": lambda: self._pages(connection),
                "copy": lambda: self._copied(connection),
                "server's cursor": lambda: self._server_cursor(connection),
                "rows by name": lambda: self._by_name(connection),
                "in a block": lambda: self._in_a_block(connection),
                "close": connection.close,
                "closed": lambda: connection.cursor(),  # noqa: PLW0108  # the attribute is looked up in the step
            }
            for name, call in steps.items():
                host.step(name, named, psycopg2.Error, call)
        host.step("no server", named, psycopg2.Error, lambda: psycopg2.connect("postgresql://x@127.0.0.1:1/x"))
        host.step("asynchronous", named, psycopg2.Error, self._asynchronous)

    def _pages(self, connection: Any) -> Any:
        from psycopg2 import extras

        with connection.cursor() as cursor:
            extras.execute_batch(cursor, "INSERT INTO t VALUES (%s, 'b')", [(20,), (21,), (22,)], page_size=2)
            extras.execute_values(cursor, "INSERT INTO t VALUES %s", [(23, "v"), (24, "v")], page_size=1)
            cursor.callproc("upper", ["x"])
            return cursor.fetchone()

    def _copied(self, connection: Any) -> Any:
        import io

        output = io.StringIO()
        with connection.cursor() as cursor:
            cursor.copy_from(io.StringIO("30\tc\n"), "t")
            cursor.copy_expert("COPY (SELECT id FROM t WHERE id = 30) TO STDOUT", output)
        return output.getvalue()

    def _server_cursor(self, connection: Any) -> Any:
        with connection.cursor("mine") as cursor:
            cursor.execute("SELECT generate_series(5, 9)")
            return cursor.fetchmany(2), cursor.fetchone(), cursor.fetchall()

    def _by_name(self, connection: Any) -> Any:
        from psycopg2 import extras, sql

        with connection.cursor(cursor_factory=extras.RealDictCursor) as cursor:
            cursor.execute(sql.SQL("SELECT {} AS a").format(sql.Literal(1)))
            return dict(cursor.fetchone())

    def _in_a_block(self, connection: Any) -> Any:
        connection.rollback()
        with contextlib.suppress(LookupError), connection:
            self._executed(connection, "SELECT 4")
            raise LookupError
        with connection:
            return self._executed(connection, b"SELECT 5")

    def _asynchronous(self) -> Any:
        import psycopg2
        from psycopg2.extras import wait_select

        connection = psycopg2.connect(self.database_url, async_=True)
        wait_select(connection)
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute("SELECT 6")
            wait_select(connection)
            found = cursor.fetchall()
            cursor.execute("SELECT gone")
            try:
                wait_select(connection)
            except psycopg2.Error as error:
                found.append(type(error).__name__)
        connection.close()
        return found


class PyMySQL(_DBAPI):
    """PyMySQL's connections and cursors, also those that do not hold their rows, and procedures."""

    about = ("otel_fastpath/db/pymysql/", "otel_fastpath/db/dbapi/mysql.py")
    settings = {"pymysql_options": "parameters,rows,sqlcommenter"}  # read only

    def run(self, host: Host) -> None:
        """On a connection of its own."""
        import pymysql

        place = {"host": "127.0.0.1", "port": int(self.servers["mariadb"]), "user": "root", "database": "test"}
        connection = host.step("connect", lambda: pymysql.connect(**place))
        if connection is not None:
            steps = self._steps(connection) | {
                "procedure": lambda: self._procedure(connection),
                "not held": lambda: self._not_held(connection),
                "begin": connection.begin,
                "ping": connection.ping,
                "close": connection.close,
                "closed": lambda: connection.commit(),  # noqa: PLW0108  # the attribute is looked up in the step
                "connected again": lambda: connection.ping(reconnect=True),
                "still there": lambda: self._executed(connection, "SELECT 3"),
                "closed again": connection.close,
            }
            for name, call in steps.items():
                host.step(name, named, pymysql.Error, call)
        host.step("no server", named, pymysql.Error, lambda: pymysql.connect(host="127.0.0.1", port=1))

    def _procedure(self, connection: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("CREATE OR REPLACE PROCEDURE p(x int) SELECT x, x + 1")
            cursor.callproc("p", (1,))
            return cursor.fetchall()

    def _not_held(self, connection: Any) -> Any:
        from pymysql.cursors import SSCursor

        with connection.cursor(SSCursor) as cursor:
            cursor.execute("SELECT id FROM t ORDER BY id")
            return cursor.fetchone(), cursor.fetchall()
