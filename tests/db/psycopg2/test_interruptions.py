"""A time limit that arrives while psycopg2 connects."""

from __future__ import annotations

import sys

import psycopg2
import pytest
from interrupting import interrupt
from psycopg2.extras import wait_select

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")


@pytest.mark.parametrize("settings", [{}, {"async_": True}], ids=["sync", "async"])
def test_a_connect(wrap, database_url, settings):
    """The application gets it, and the connect's span has ended: one that is not polled ends when it is closed."""
    seen = wrap()

    def connect():
        connection = psycopg2.connect(database_url, **settings)
        try:
            wait_select(connection)
        finally:
            try:
                connection.close()
            finally:
                # The limit may have arrived before the first one began.
                connection.close()

    assert interrupt(seen.tracer_provider, connect) == []
