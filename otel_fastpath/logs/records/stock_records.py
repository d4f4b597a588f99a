"""Stock's own `LogRecord` and `ReadWriteLogRecord`, filled without their constructors. Compiled as `stock_records_c`.

An application makes the first with `LogRecord(...)`; processors of its own get it in the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context as _context_api
from opentelemetry._logs import LogRecord
from opentelemetry._logs import _internal as _api
from opentelemetry.sdk._logs import ReadWriteLogRecord
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.trace import propagation as _propagation

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import item, new_instance, read_clock
from otel_fastpath.compiled.interpreted import fill_record, fill_whole
from otel_fastpath.logs.records.emitting import (
    HAS_EXCEPTIONS,
    LEFT,
    LogPlan,
    api_globals,
    span_context_in,
    stored_attributes,
    try_use,
)
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import current
from otel_fastpath.trace.spans.bounding import bounded_attributes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.attributes import BoundedAttributes
    from opentelemetry.context import Context

# What the constructor calls, and is not called here.
_finding = Facts(
    [
        (_api, "get_current", as_defined(_context_api, "get_current")),
        (_api, "get_current_span", as_defined(_propagation, "get_current_span")),
        *((SpanContext, name, as_defined(SpanContext, name)) for name in ("trace_id", "span_id", "trace_flags")),
    ]
)


def bind_init(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `LogRecord.__init__`."""
    switch = Switch()

    def __init__(  # noqa: N807  # the name of what it replaces
        self: Any,
        *,
        timestamp: int | None = None,
        observed_timestamp: int | None = None,
        context: Context | None = None,
        trace_id: int | None = None,
        span_id: int | None = None,
        trace_flags: TraceFlags | None = None,
        severity_text: str | None = None,
        severity_number: Any = None,
        body: Any = None,
        attributes: Any = None,
        event_name: str | None = None,
        exception: BaseException | None = None,
    ) -> None:
        try:
            if type(self) is LogRecord and (HAS_EXCEPTIONS or exception is None) and not switch.inert:
                found = _span_context(context)
                if found is not None:
                    number, text, event = severity_number, severity_text, event_name
                    at, observed = timestamp, observed_timestamp
                    _fill(self, found, context, at, observed, number, text, body, attributes, event, exception)
                    # Each on its own, as stock does.
                    if trace_id:
                        self.trace_id = trace_id
                    if span_id:
                        self.span_id = span_id
                    if trace_flags:
                        self.trace_flags = trace_flags
                    return
        except Exception as error:
            faults.absorb("LogRecord", error)
        more = {"exception": exception} if HAS_EXCEPTIONS or exception is not None else {}
        original(
            self,
            timestamp=timestamp,
            observed_timestamp=observed_timestamp,
            context=context,
            trace_id=trace_id,
            span_id=span_id,
            trace_flags=trace_flags,
            severity_text=severity_text,
            severity_number=severity_number,
            body=body,
            attributes=attributes,
            event_name=event_name,
            **more,
        )

    return make_switchable(original, __init__, switch)


def _span_context(context: Context | None) -> SpanContext | None:
    """The span context of a record that is made in this context; None if stock must find it."""
    return span_context_in(context or None) if _finding.hold() else None


def _fill(
    record: Any,
    found: SpanContext,
    context: Context | None,
    timestamp: int | None,
    observed: int | None,
    number: Any,
    text: str | None,
    body: Any,
    attributes: Any,
    event_name: str | None,
    exception: BaseException | None,
) -> None:
    """Set the fields of a record."""
    if observed is None:
        observed = read_clock(api_globals)
    where, trace_id, span_id, flags = context or current(), item(found, 0), item(found, 1), item(found, 3)
    fill_record(
        record, timestamp, observed, where, trace_id, span_id, flags, text, number, body, attributes, event_name
    )
    if HAS_EXCEPTIONS:
        record.exception = exception


def made_record(
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
    """A record of these parts for the processors of the logger, as stock would make it; None if stock must."""
    if not try_use(plan):
        return None
    kept = stored_attributes(plan, attributes, exception)
    found = None if kept is LEFT else _span_context(context)
    if found is None:
        return None
    record = new_instance(LogRecord)
    bounded = bound_attributes(plan, kept)
    _fill(record, found, context, timestamp, observed, number, text, body, bounded, event_name, exception)
    return _whole(plan, record)


def given_record(plan: LogPlan, given: Any) -> object:
    """A record that the application made, for the processors of the logger; None if stock must prepare it."""
    if type(given) is not LogRecord or not try_use(plan):
        return None
    exception = getattr(given, "exception", None)
    kept = stored_attributes(plan, given.attributes, exception)
    if kept is LEFT:
        return None
    record = given
    if exception is not None:
        # Stock adds its attributes to a copy, too.
        record = new_instance(LogRecord)
        record.__dict__.update(given.__dict__)
    record.attributes = bound_attributes(plan, kept)
    return _whole(plan, record)


def bound_attributes(plan: LogPlan, kept: dict[str, object] | None) -> BoundedAttributes:
    """The container of these attributes that stock would make."""
    return bounded_attributes({} if kept is None else kept, plan.max_count, plan.max_length, False)  # noqa: FBT003  # positional for C


def _whole(plan: LogPlan, record: Any) -> object:
    """What the processors get."""
    whole: Any = new_instance(ReadWriteLogRecord)
    fill_whole(whole, record, plan.fields["_resource"], plan.scope, plan.limits)
    return whole
