"""A time limit that arrives while a query or a connect begins, is executed or ends."""

from __future__ import annotations

import sqlite3
import sys

import pytest
from interrupting import interrupt

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
OPTIONS = ["", "parameters,rows,sqlcommenter,slow=1us,repeats=2"]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("text", ["SELECT 1", "SELEC 1"])
def test_a_query(wrap, connect, options, text):
    """The application gets it, and the query's span has ended, also where the query itself fails."""
    seen = wrap(options)
    cursor = connect().cursor()

    assert interrupt(seen.tracer_provider, lambda: cursor.execute(text), expected=(sqlite3.Error,)) == []


@pytest.mark.parametrize("name", [":memory:", "/nowhere/at/all.db"])
def test_a_connect(wrap, name):
    """Likewise, whether it succeeds or not."""
    seen, made = wrap(), []

    class Connection(sqlite3.Connection):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    def connect():
        sqlite3.connect(name, factory=Connection)

    assert interrupt(seen.tracer_provider, connect, expected=(sqlite3.Error,)) == []
    for each in made:
        each.close()
