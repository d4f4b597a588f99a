"""sqlite3 does what every wrapper of a database library does, in the place of the stock instrumentation."""

from __future__ import annotations

from contracts.databases import Takeover


class TestContract(Takeover):
    """sqlite3, in memory."""

    query = staticmethod(lambda c: c.execute("SELECT 7"))
    # Comments do not change the spans.
    variants = [{"enable_commenter": True}]
    stood_back = (lambda c: c.cursor().execute("SELECT 1"), ["SELECT"])

    @staticmethod
    def program_of_both(connection):
        """What both see alike, and what stock's does not see."""
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE p (id int, v text)")
        cursor.execute("SELECT * FROM p WHERE v <> 'x' AND id = ?", (1,))
        cursor.execute("/* a comment */ select id from p")
        cursor.execute("-- a comment\nSELECT 1")
        cursor.executemany("INSERT INTO p VALUES (?, ?)", [(11, "two"), (12, "three")])
        connection.execute("DELETE FROM p")
        connection.executescript("SELECT 1")
        connection.commit()

    def check_stock(self, names):
        """Those of cursors."""
        assert names == ["CREATE", "SELECT", "select", "--", "INSERT"]

    def check_added(self, spans):
        """Those of connections, too."""
        names = ["CONNECT", "CREATE", "SELECT", "select", "SELECT", "INSERT", "DELETE", "SELECT"]
        assert [span.name for span in spans] == names
