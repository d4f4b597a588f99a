"""Statements of SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor

from otel_fastpath.tools.prove.libraries.queries_drawn import query_instrumented

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.prove.program import ProgramRun


def _connect() -> Callable[[str, Sequence[Any]], Any]:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.QueuePool)
    connection = engine.connect()
    connection.exec_driver_sql("CREATE TABLE items (number)")

    def ask(text: str, parameters: Sequence[Any]) -> Any:
        found = connection.exec_driver_sql(text, tuple(parameters))
        return tuple(map(tuple, found)) if found.returns_rows else found.rowcount

    return ask


def run_sqlalchemy(run: ProgramRun) -> None:
    """Statements of a connection."""
    query_instrumented(run, SQLAlchemyInstrumentor(), _connect)


PROGRAM: Final = run_sqlalchemy
