"""What an application sees of psycopg2 is the same: classes, attributes, where errors are raised, what C accepts."""

from __future__ import annotations

import gc
import weakref

import psycopg2
import psycopg2.extensions
import psycopg2.extras
import psycopg2.sql
import pytest


def test_a_connection_and_its_cursors_look_the_same(wrap, run):
    """Their class's name, module and text, their attributes, and which methods they have."""

    def told(connection):
        named = connection.cursor("mine")
        return [
            (kind.__name__, kind.__qualname__, kind.__module__, kind.__doc__, hasattr(each, "__dict__"), public(each))
            for each in (connection, connection.cursor(), named)
            for kind in (type(each),)
        ]

    def public(each):
        return sorted(name for name in dir(each) if not name.startswith("_"))

    bare = run(told)
    wrap()

    assert run(told) == bare


def test_what_is_asked_of_a_cursor_is_answered_as_before(look):
    """A default factory is still none; an attribute that an application sets is refused as before."""

    def main(connection):
        assert connection.cursor_factory is None
        cursor = connection.cursor()
        assert cursor.connection is connection
        with pytest.raises(AttributeError):
            cursor.note = 1
        with pytest.raises(AttributeError):
            connection.note = 1
        with pytest.raises(TypeError):
            cursor.execute()
        with pytest.raises(TypeError):
            cursor.execute("SELECT 1", nonsense=1)
        with pytest.raises(TypeError, match="subclass"):
            connection.cursor(cursor_factory=lambda *_args, **_kwargs: 7)
        with pytest.raises(TypeError):
            connection.cursor(nonsense=1)
        with pytest.raises(TypeError):
            connection.cursor(cursor_factory=7)
        with connection.cursor("mine", withhold=True, scrollable=True) as named:
            assert (named.name, named.withhold, named.scrollable) == ("mine", True, True)

    look(main)


def test_psycopg2s_own_code_in_c_accepts_them(look):
    """Types, adapters and quoting that are registered for a connection or cursor."""

    def main(connection):
        cursor = connection.cursor()
        upper = psycopg2.extensions.new_type((25,), "UPPER", lambda value, _cursor: value and value.upper())
        psycopg2.extensions.register_type(upper, connection)
        cursor.execute("SELECT 'a'::text")
        assert cursor.fetchone() == ("A",)
        psycopg2.extras.register_uuid(conn_or_curs=connection)
        assert psycopg2.extensions.quote_ident("a b", connection) == '"a b"'
        assert psycopg2.sql.Identifier("a").as_string(cursor) == '"a"'
        assert psycopg2.extensions.encrypt_password("a", "b", cursor, "md5").startswith("md5")
        direct = psycopg2.extensions.cursor(connection)
        direct.execute("SELECT 1")
        assert direct.fetchone() == (1,)

    look(main)


def test_a_cursor_that_the_application_makes_of_a_class_is_psycopg2s(look):
    """It is of a class in C that nobody can change, so that it has no span: that is a limit in the docs."""

    def main(connection):
        cursor = psycopg2.extensions.cursor(connection)
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)

    assert look(main).names() == []


def test_connections_are_freed(wrap, run):
    """With their cursors: nothing of ours keeps them."""
    wrap()

    def main(connection):
        cursor = connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor)
        cursor.execute("SELECT 1")
        return weakref.ref(connection), weakref.ref(cursor)

    found = run(main)
    gc.collect()

    assert [each() for each in found] == [None, None]


def test_classes_that_are_made_for_each_call_are_freed(look):
    """At most so many of an application's classes are kept."""
    made = []

    def main(connection):
        for _ in range(200):
            factory = type("Local", (psycopg2.extras.DictCursor,), {})
            connection.cursor(cursor_factory=factory).execute("SELECT 1")
            made.append(weakref.ref(factory))
        del factory
        gc.collect()
        assert sum(each() is not None for each in made) <= 128

    assert len(look(main).spans()) == 200


def test_a_rejected_subclass_leaves_psycopg2s_cursor(look, no_faults):
    """A class of the application that allows no subclass: its cursors work, and have no spans."""

    class Final(psycopg2.extensions.cursor):
        def __init_subclass__(cls):
            raise TypeError

    def main(connection):
        cursor = connection.cursor(cursor_factory=Final)
        assert type(cursor) is Final
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)

    assert look(main).names() == []
    assert no_faults.counts() == {}
