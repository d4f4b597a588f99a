"""Prepares the hot modules of log records."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_fastpath import compiled
from otel_fastpath.compiled import hot

if TYPE_CHECKING:
    from otel_fastpath.logs.planner import LoggerPlanner


class Ready(NamedTuple):
    """One implementation of the hot modules, ready for use.

    Attributes:
        known_loggers: The module `logs.known_loggers`.
        logger_emit: The module `logs.records.logger_emit`.
        queueing: The module `logs.records.queueing`.
        stock_records: The module `logs.records.stock_records`.
        handling: The module `logs.handling`.
        planner: Makes the plans of loggers and handlers.
    """

    known_loggers: Any
    logger_emit: Any
    queueing: Any
    stock_records: Any
    handling: Any
    planner: LoggerPlanner


def set_up() -> Ready:
    """Prepare the hot modules. Called whenever a patch that needs them is applied."""
    # The planner imports these. They are imported first, because the patches of what is in them, which use the same hot
    # modules, are applied before the import returns.
    for name in ("opentelemetry.sdk.trace", "opentelemetry.sdk._logs.export"):
        importlib.import_module(name)
    return _ready(compiled.implementation()[0])


def forget_plans() -> None:
    """Remove the plans from all loggers, handlers and processors."""
    set_up().planner.forget()
    hot.trace_spans_ending.QUEUES.forget()


@functools.cache
def _ready(_core: str) -> Ready:
    # These import the SDK, so they are imported only when it is patched.
    from otel_fastpath.logs import planner  # noqa: PLC0415  # see above
    from otel_fastpath.logs.records import record_class  # noqa: PLC0415  # see above

    emitting, handling = hot.logs_records_emitting, hot.logs_handling
    kind = record_class.make_record_class(hot.logs_records_record.RecordState)
    plans = planner.LoggerPlanner(
        planner.LogCore(
            facts=hot.compiled_facts.Facts,
            store=hot.patching_plans.PlanStore,
            emitting=emitting,
            handling=handling,
            batch_of=hot.trace_spans_ending.batch_of,
            record_class=kind,
        )
    )
    emitting.configure(plans.plan_logger)
    hot.logs_records_queueing.configure(kind)
    handling.configure(plans.plan_handler)
    return Ready(
        hot.logs_known_loggers,
        hot.logs_records_logger_emit,
        hot.logs_records_queueing,
        hot.logs_records_stock_records,
        handling,
        plans,
    )
