"""Queries of sqlite3."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.sqlite3 import SQLite3Instrumentor

from otel_fastpath.tools.prove.libraries.queries_drawn import query_instrumented

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_fastpath.tools.prove.program import ProgramRun


def _connect() -> Callable[[str, Sequence[Any]], Any]:
    connection = sqlite3.connect(":memory:")
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE items (number)")

    def ask(text: str, parameters: Sequence[Any]) -> Any:
        cursor.execute(text, parameters)
        return tuple(cursor.fetchall())

    return ask


def run_sqlite3(run: ProgramRun) -> None:
    """Queries of a cursor."""
    query_instrumented(run, SQLite3Instrumentor(), _connect)


PROGRAM: Final = run_sqlite3
