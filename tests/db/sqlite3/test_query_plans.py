"""What is kept of connections that come and go, and what is read of a text."""

from __future__ import annotations

import gc
import sqlite3

import pytest

from otel_fastpath.compiled import load
from otel_fastpath.db.sqlite3.query_plans import DATABASE


@pytest.fixture
def scanned(core, monkeypatch):
    """The texts that are scanned."""
    found = []
    module = load("db.queries.sql", core)
    scan = module.scan
    monkeypatch.setattr(module, "scan", lambda text, *most: found.append(text) or scan(text, *most))
    return found


def query(*texts, name=":memory:", **settings):
    """Connect, execute, close."""
    connection = sqlite3.connect(name, **settings)
    for text in texts:
        connection.cursor().execute(text).fetchall()
    connection.close()


def reachable(start):
    """Every string that an object refers to, and what refers to it in turn, but for modules, classes and functions."""
    seen, waiting, found = set(), [start], []
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, (type, type(gc), type(query))):
            continue
        seen.add(id(each))
        if isinstance(each, str):
            found.append(each)
        waiting.extend(gc.get_referents(each))
    return found


def test_a_text_is_read_once_for_all_connections(wrap, scanned):
    """Each request has a connection of its own, as with Django's CONN_MAX_AGE of 0."""
    seen = wrap()
    for _ in range(3):
        query("SELECT 1", "SELECT 'a'")
        gc.collect()

    assert seen.names().count("SELECT") == 6
    assert [text for text in scanned if text.startswith("SELECT")] == ["SELECT 1", "SELECT 'a'"]


@pytest.mark.usefixtures("in_its_place")
def test_what_is_not_emitted_is_not_read(stock_instrumentor, wrap, seen, scanned):
    """In the place of stock's instrumentation, the first word is the name, and the text is as it was given."""
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    query("SELECT 'a value' AS v", "/* a comment */ select 1")

    assert [(span.name, span.attributes["db.statement"]) for span in seen.spans()] == [
        ("SELECT", "SELECT 'a value' AS v"),
        ("select", "/* a comment */ select 1"),
    ]
    assert scanned == []


@pytest.mark.usefixtures("in_its_place")
def test_options_that_need_the_text_have_it_read(stock_instrumentor, wrap, seen, scanned):
    """`no-transactions` leaves out what begins and ends a transaction."""
    wrap("no-transactions", telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider)
    query("BEGIN", "SELECT 1", "COMMIT")

    assert seen.names() == ["SELECT"]
    assert scanned == ["BEGIN", "SELECT 1", "COMMIT"]


def test_no_key_of_a_file_is_kept(wrap):
    """A URI may have one among its parameters: the plans are kept by the name without them."""
    wrap()
    query("SELECT 1", name="file:kept-name?mode=memory&key=geheim", uri=True)
    kept = reachable(DATABASE.active)

    assert "file:kept-name" in kept
    assert not [text for text in kept if "geheim" in text]


def test_quoted_strings_of_many_names(wrap, connect):
    """What is in double quotes is `?` unless it is a table's name, wherever it stands and however it is written."""
    seen = wrap()
    connection = connect()
    connection.execute('CREATE TABLE "a ""b""" (id int, v text)')
    seen.spans()
    connection.execute('SELECT "a ""b""".id, "x""y" FROM "a ""b""" WHERE v = 7 OR v = "it\'s"')

    assert seen.one().attributes["db.query.text"] == 'SELECT "a ""b""".id, ? FROM "a ""b""" WHERE v = ? OR v = ?'
