"""PyMySQL and mysqlclient do what every wrapper does, in the place of the stock instrumentation."""

from __future__ import annotations

import pytest
from contracts.databases import Takeover


class TestContract(Takeover):
    """Each driver in turn, on a real MariaDB."""

    query = staticmethod(lambda c: c.cursor().execute("SELECT 7"))
    stood_back = (lambda c: c.cursor().execute("SELECT 1"), ["SELECT"])

    @pytest.fixture
    def both_runs(self, run, table):  # noqa: ARG002  # a fixture cannot use `usefixtures`
        """Run the program, whose commit has no span."""
        return lambda: run(self.program_of_both)

    @staticmethod
    def program_of_both(connection):
        """What both see alike."""
        cursor = connection.cursor()
        cursor.execute("SELECT * FROM t WHERE v <> 'x' AND id = %s", (1,))
        cursor.execute("/* a comment */ select id from t")
        cursor.execute("-- a comment\nSELECT 1")
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(11, "two"), (12, "three")])
        cursor.callproc("p", (1,))
        cursor.close()
        connection.rollback()

    def check_stock(self, names):
        """Each of the program's."""
        assert set(names) == {"SELECT", "select", "--", "INSERT", "p"}

    def check_added(self, spans):
        """Those around it."""
        assert {"CONNECT", "ROLLBACK"} < {span.name for span in spans}
