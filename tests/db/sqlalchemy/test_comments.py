"""A comment in a statement of any form that a driver takes through SQLAlchemy: it runs."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

BACKEND = "SELECT query, 'é' FROM pg_stat_activity WHERE pid = pg_backend_pid()"


@pytest.mark.usefixtures("comments")
@pytest.mark.parametrize("form", [sa.text, str, str.encode])
@pytest.mark.parametrize("driver", ["psycopg2", "psycopg"])
def test_a_statement_of_this_form(url, driver, form):
    """The server gets it with the comment."""
    engine = sa.create_engine(url(driver), poolclass=sa.NullPool)
    with engine.connect() as connection:
        execute = connection.execute if form is sa.text else connection.exec_driver_sql
        sent, value = execute(form(BACKEND)).fetchone()

    assert value == "é"
    assert "traceparent='00-" in sent
