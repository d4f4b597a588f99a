"""`Logger.emit`: the way of a record, by its parts or as a whole. Plain Python; compiled as `logger_emit_c`.

Errors of this code are reported, and stock's method runs instead, unless the record is in the queue already. What the
processors of the application raise is theirs, as with stock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_fastpath.logs.records.emitting import HAS_EXCEPTIONS, LogPlan, plan_of, try_emit
from otel_fastpath.logs.records.queueing import try_emit_given
from otel_fastpath.logs.records.stock_records import given_record, made_record
from otel_fastpath.logs.refused import refuse
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.context import Context


def bind_emit(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Logger.emit`. It raises nothing: what is wrong with a record is logged once."""
    switch = Switch()

    def emit(
        self: Any,
        record: Any = None,
        *,
        timestamp: int | None = None,
        observed_timestamp: int | None = None,
        context: Context | None = None,
        severity_number: Any = None,
        severity_text: str | None = None,
        body: Any = None,
        attributes: Any = None,
        event_name: str | None = None,
        exception: BaseException | None = None,
    ) -> None:
        done: object = None
        try:
            if record is not None and not switch.inert:
                done = _try_given(plan_of(self), record)
            elif not switch.inert:
                done = _try_parts(
                    plan_of(self),
                    timestamp,
                    observed_timestamp,
                    context,
                    severity_number,
                    severity_text,
                    body,
                    attributes,
                    event_name,
                    exception,
                )
        except Exception as error:
            done = _report(error)
        try:
            if done is None:
                original(
                    self,
                    record,
                    timestamp=timestamp,
                    observed_timestamp=observed_timestamp,
                    context=context,
                    severity_number=severity_number,
                    severity_text=severity_text,
                    body=body,
                    attributes=attributes,
                    event_name=event_name,
                    **({"exception": exception} if HAS_EXCEPTIONS or exception is not None else {}),
                )
            elif done is not True:
                _forward(self, done)
        except Exception as error:
            _refuse(error, switch.inert)

    return make_switchable(original, emit, switch)


def _refuse(error: Exception, is_inert: bool) -> None:
    """Log once what is wrong with a record; raise it where this code is no longer in force."""
    try:
        if is_inert:
            raise error
        refuse("Logger.emit", error)
    finally:
        # As in `faults.absorb`.
        del error


def _report(error: Exception) -> object:
    """Report the error; return True if it is the record's, which stock's method cannot emit either, else None."""
    try:
        if faults.ours(error):
            faults.report("Logger.emit", error)
            return None
        refuse("Logger.emit", error)
    finally:
        # Likewise.
        del error
    return True


def _try_given(plan: LogPlan, record: Any) -> object:
    """Emit a record that the application made; returns what `_try_parts` does."""
    if plan.forwards:
        return given_record(plan, record)
    return True if try_emit_given(plan, record) else None


def _try_parts(
    plan: LogPlan,
    timestamp: int | None,
    observed: int | None,
    context: Context | None,
    number: Any,
    text: str | None,
    body: Any,
    attributes: Any,
    event_name: str | None,
    exception: BaseException | None,
) -> object:
    """Emit a record of these parts.

    Returns:
        True if it is done; what the processors are to get; None if stock's method must do it.
    """
    if plan.forwards:
        return made_record(plan, timestamp, observed, context, number, text, body, attributes, event_name, exception)
    if try_emit(plan, timestamp, observed, context, number, text, body, attributes, event_name, exception):
        return True
    return None


def _forward(logger: Any, whole: Any) -> None:
    """What `Logger.emit` does with a record that is complete."""
    metrics = getattr(logger, "_logger_metrics", None)
    if metrics is not None:
        metrics.emit_log()
    logger._multi_log_record_processor.on_emit(whole)
