"""`callproc` of the drivers of the DB-API (PEP 249)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.db import conventions, cursors
from otel_fastpath.db.dbapi.stock_telemetry import StockConventions

if TYPE_CHECKING:
    from otel_fastpath.db.call_wrappers import Opening
    from otel_fastpath.db.cursors import Driver


def opener(driver: Driver) -> Any:
    """Returns what a call of `callproc` is opened with."""

    def open_query(args: Any, kwargs: Any) -> Opening:
        connection = driver.connection_of(args[0])
        if connection is None:
            return cursors.NOTHING
        connection_plan = driver.database.connection_plan(connection)
        name = _name(args[1] if len(args) > 1 else kwargs.get("procname"))
        if isinstance(connection_plan.active.convention, StockConventions):
            return connection_plan, connection_plan.plans.plan(name), None, None, None
        own = {"db.stored_procedure.name": name} if name else {}
        return connection_plan, connection_plan.plans.special(f"CALL {name}".rstrip(), own), None, None, None

    return open_query


def _name(given: Any) -> str:
    """The name of a procedure; empty for what is none: the driver reports this error itself."""
    # Nothing is asked of another object, whose methods may raise.
    return bytes.decode(given, "utf-8", "replace") if issubclass(type(given), bytes) else conventions.plain(given)


def around(driver: Driver, original: Any) -> Any:
    """Wrap `callproc` of a cursor."""
    return cursors.around(driver, driver.database.of_opener(opener(driver)), original)
