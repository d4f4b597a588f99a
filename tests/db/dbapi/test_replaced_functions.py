"""A function of stock's that is replaced after it is instrumented is called by the next connection, as by stock's."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from newer_releases import dbapi_metrics
from opentelemetry.instrumentation import dbapi
from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor


@pytest.fixture
def instrumented():
    """sqlite3 with its instrumentation."""
    SQLite3Instrumentor().instrument()
    yield
    SQLite3Instrumentor().uninstrument()


@dbapi_metrics
@pytest.mark.usefixtures("instrumented")
def test_the_next_connection_has_the_instruments_that_it_reports(instrumentor, core, monkeypatch):
    """Without them, stock's code around the query would raise into the application."""
    instrumentor.instrument(core=core)
    monkeypatch.setattr(dbapi, "_report_new", lambda _mode: True)
    with closing(sqlite3.connect(":memory:")) as connection:
        assert connection.cursor().execute("SELECT 1").fetchall() == [(1,)]
