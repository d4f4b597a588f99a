"""A comment in a query in bytes: it runs, and returns what it returns without the comment."""

from __future__ import annotations

import pytest

SENT = "SELECT info, 'é' FROM information_schema.processlist WHERE id = connection_id()"


@pytest.mark.usefixtures("comments", "table")
@pytest.mark.parametrize("form", [str, str.encode, lambda text: bytearray(text.encode())])
def test_a_query_of_this_form(connect, form):
    """The server gets it with the comment. PyMySQL takes none with parameters."""
    cursor = connect(autocommit=True, charset="utf8mb4").cursor()
    cursor.execute(form(SENT))
    sent, value = cursor.fetchone()
    assert value == "é"
    assert "traceparent='00-" in sent

    cursor.execute(form("INSERT INTO t VALUES (20, '%é')"))
    cursor.execute(form("SELECT count(*) FROM t WHERE v LIKE '%é'"))
    assert cursor.fetchone() == (1,)
