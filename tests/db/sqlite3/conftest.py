"""sqlite3 as an application has it, wrapped by us with both cores in turn."""

from __future__ import annotations

import sqlite3

import pytest
from contracts.databases import by_hand

TABLE = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b')"


@pytest.fixture
def connect():
    """Connect to a database: `connect(*args, **kwargs)`, in memory if nothing is given. All are closed in the end."""
    made = []

    def call(*args, **kwargs):
        made.append(sqlite3.connect(*(args or (":memory:",)), **kwargs))
        return made[-1]

    yield call
    for each in made:
        each.close()


@pytest.fixture
def look(wrap, connect):
    """Run a function with a connection with a table `t`, once wrapped; gives what was seen, without that."""

    def call(function, options="", **settings):
        seen = wrap(options)
        connection = connect(**settings)
        connection.executescript(TABLE)
        seen.spans()
        by_hand(function(connection))
        return seen

    return call


@pytest.fixture
def run(connect):
    """Run a function with a connection."""
    return lambda function: by_hand(function(connect()))


@pytest.fixture
def look_both(look):
    """There is one kind of connections."""
    return look
