"""Statements of SQLAlchemy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor

from otel_fastpath.tools.prove.libraries.queries_drawn import query_instrumented

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.prove.program import ProgramRun


_COMMENTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"enable_commenter": True},
    {"enable_commenter": True, "enable_attribute_commenter": True, "commenter_options": {"db_framework": False}},
    {},
)


def _engine() -> Any:
    return sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.QueuePool)


def _connect(engine: Any) -> Callable[[str, Sequence[Any]], Any]:
    connection = engine.connect()
    connection.exec_driver_sql("CREATE TABLE items (number)")

    def ask(text: str, parameters: Sequence[Any]) -> Any:
        found = connection.exec_driver_sql(text, tuple(parameters))
        return tuple(map(tuple, found)) if found.returns_rows else found.rowcount

    return ask


def run_sqlalchemy(run: ProgramRun) -> None:
    """Statements of a connection, of an engine that is made while SQLAlchemy is instrumented, or given to it."""
    engines = [_engine(), _engine()]
    given: dict[str, Any] = ({}, {"engine": engines[0]}, {"engines": engines})[run.seed % 3]
    options = _COMMENTS[run.seed % len(_COMMENTS)]
    query_instrumented(
        run, SQLAlchemyInstrumentor(), lambda: _connect(engines[0] if given else _engine()), **given, **options
    )


PROGRAM: Final = run_sqlalchemy
