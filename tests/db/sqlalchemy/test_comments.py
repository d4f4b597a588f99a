"""A comment in a statement of any form that a driver takes through SQLAlchemy: it runs."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

BACKEND = "SELECT query, 'é' FROM pg_stat_activity WHERE pid = pg_backend_pid()"


@pytest.fixture(params=["ours", "stock's"])
def comments(request, wrap, seen):
    """Comments are added: the option of ours, or stock's argument, with ours in its place."""
    if request.param == "ours":
        wrap("sqlcommenter")
        return
    stock_instrumentor = request.getfixturevalue("stock_instrumentor")
    wrap(telemetry="same")
    stock_instrumentor.instrument(
        tracer_provider=seen.tracer_provider, enable_commenter=True, enable_attribute_commenter=True
    )


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
