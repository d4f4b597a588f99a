"""A real PostgreSQL, and psycopg2 as an application has it: wrapped by us, with both cores in turn."""

from __future__ import annotations

import importlib.util

import pytest
from contracts.databases import by_hand

# It has no binary for some platforms.
collect_ignore_glob = [] if importlib.util.find_spec("psycopg2") else ["test_*.py"]

ROWS = "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 10) i"


@pytest.fixture
def run(database_url):
    """Run a function with a connection."""
    import psycopg2

    def call(function, *, autocommit=True, **settings):
        connection = psycopg2.connect(database_url, **settings)
        try:
            connection.autocommit = autocommit
            return by_hand(function(connection))
        finally:
            connection.close()

    return call


@pytest.fixture
def table(run):
    """A table `t` of ten rows."""

    def make(connection):
        cursor = connection.cursor()
        cursor.execute("DROP TABLE IF EXISTS t")
        cursor.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        cursor.execute(ROWS)

    run(make)
    yield
    run(lambda connection: connection.cursor().execute("DROP TABLE t"))


@pytest.fixture
def prepared(table):
    """`look` has the table."""
    return table
