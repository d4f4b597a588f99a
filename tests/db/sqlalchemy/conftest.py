"""SQLAlchemy as an application has it, wrapped by us with both cores in turn: on sqlite, or on a real PostgreSQL."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from contracts.databases import by_hand
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.instrumentation.sqlalchemy.engine import EngineTracer

sys.path.insert(0, str(Path(__file__).parent))

from sqlalchemy_tables import METADATA, T


@pytest.fixture
def engine():
    """An engine on sqlite, in memory, with a table `t` of ten rows, made before it is wrapped."""
    made = sa.create_engine("sqlite://")
    with made.begin() as connection:
        METADATA.create_all(connection)
        connection.execute(T.insert(), [{"v": f"row {number}"} for number in range(1, 11)])
    yield made
    made.dispose()


@pytest.fixture
def url(database_url):
    """The URL of the PostgreSQL, for a driver: `url("asyncpg")`."""
    return lambda driver: sa.make_url(database_url).set(drivername=f"postgresql+{driver}")


@pytest.fixture
def run(engine):
    """Run a function with a connection of the engine."""

    def call(function):
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            return by_hand(function(connection))

    return call


@pytest.fixture
def stock_instrumentor(in_its_place, monkeypatch, stock_instrumentor):  # noqa: ARG001  # no `usefixtures` here
    """Only where ours takes its place; it works with every release of SQLAlchemy."""
    EngineTracer._remove_event_listener_params = []
    # What it would do if it did not refuse SQLAlchemy 2.1.
    monkeypatch.setattr(SQLAlchemyInstrumentor, "_check_dependency_conflicts", lambda _: None)
    yield stock_instrumentor
    if stock_instrumentor.is_instrumented_by_opentelemetry:
        stock_instrumentor.uninstrument()
    gc.collect()
