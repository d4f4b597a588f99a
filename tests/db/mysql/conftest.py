"""A real MariaDB, and the drivers as an application has them, each in turn: wrapped by us, with both cores."""

from __future__ import annotations

import importlib

import pytest
from contracts.databases import by_hand

MODULES = {"pymysql": "pymysql", "mysqlclient": "MySQLdb"}


@pytest.fixture(params=MODULES)
def library(request):
    """The name of each driver's wrapper in turn."""
    pytest.importorskip(MODULES[request.param], reason=f"{request.param} is not installed")
    return request.param


@pytest.fixture
def driver(library):
    """The driver's module."""
    found = importlib.import_module(MODULES[library])
    importlib.import_module(f"{found.__name__}.cursors")
    return found


@pytest.fixture
def connect(driver, mariadb):
    """Connect to the server: `connect(**settings)`. All are closed in the end."""
    made = []

    def call(**settings):
        given = {"host": "127.0.0.1", "port": mariadb.port, "user": "root", "database": "test", **settings}
        made.append(driver.connect(**given))
        return made[-1]

    yield call
    for each in made:
        if each.open:
            each.close()


@pytest.fixture
def table(connect):
    """A table `t` of ten rows."""
    connection = connect(autocommit=True)
    cursor = connection.cursor()
    cursor.execute("DROP TABLE IF EXISTS t")
    cursor.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    cursor.executemany("INSERT INTO t VALUES (%s, %s)", [(number, f"row {number}") for number in range(1, 11)])
    cursor.execute("CREATE OR REPLACE PROCEDURE p(x int) SELECT x, x + 1")
    connection.close()


@pytest.fixture
def look(wrap, connect, table):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Run a function with a connection, once wrapped; gives what was seen, without the connect."""

    def call(function, options="", **settings):
        seen = wrap(options)
        connection = connect(**{"autocommit": True, **settings})
        seen.spans()
        by_hand(function(connection))
        return seen

    return call


@pytest.fixture
def run(connect):
    """Run a function with a connection."""
    return lambda function: by_hand(function(connect()))
