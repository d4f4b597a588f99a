"""OpenTelemetry's instrumentations of the libraries whose workloads have none until this package is put in place."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultcheck.telemetry import Telemetry

# How the names of the workloads begin -> the module and the class. Others have theirs from the beginning.
_INSTRUMENTORS = {
    "asyncpg": ("asyncpg", "AsyncPGInstrumentor"),
    "cassandra": ("cassandra", "CassandraInstrumentor"),
    "openai": ("genai.openai", "OpenAIInstrumentor"),
    "psycopg": ("psycopg", "PsycopgInstrumentor"),
    "psycopg2": ("psycopg2", "Psycopg2Instrumentor"),
    "pymysql": ("pymysql", "PyMySQLInstrumentor"),
    "redis": ("redis", "RedisInstrumentor"),
    "sqlalchemy": ("sqlalchemy", "SQLAlchemyInstrumentor"),
    "sqlite3": ("sqlite3", "SQLite3Instrumentor"),
}


def instrument(workload: str, telemetry: Telemetry) -> None:
    """Instrument the library of a workload, as stock does.

    Args:
        workload: Its name.
        telemetry: Has the providers.
    """
    found = _INSTRUMENTORS.get(workload.partition("-")[0])
    if found is not None:
        module, name = found
        imported = importlib.import_module(f"opentelemetry.instrumentation.{module}")
        getattr(imported, name)().instrument(skip_dep_check=True, **telemetry.providers())
