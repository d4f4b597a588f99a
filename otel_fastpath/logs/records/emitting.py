"""From a log record's parts to the batch queue. Plain Python; compiled as `emitting_c`.

The short way is taken if the logger's only processor is stock's batch processor, or if it has none, as with
OTEL_LOGS_EXPORTER=none; `planner` works that out. Other processors get stock's own record (see `stock_records`), and in
any other case stock's method runs.
"""

from __future__ import annotations

from sys import maxsize
from typing import TYPE_CHECKING

from opentelemetry._logs import _internal as _api
from opentelemetry.sdk._logs._internal import export as _export
from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan, Span, SpanContext

from otel_fastpath.compiled.helpers import address, get_item, is_clean, item, new_instance, read_clock
from otel_fastpath.logs.records.bodies import copied
from otel_fastpath.logs.records.cleaning import clean_attributes
from otel_fastpath.logs.records.record_class import FIELDS
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import Plan
from otel_fastpath.trace import stack_traces
from otel_fastpath.trace.context.current_context import current, span_in
from otel_fastpath.trace.planning.plan import enqueue
from otel_fastpath.trace.spans.identity import Identity
from otel_fastpath.trace.spans.span import is_context_known
from otel_fastpath.trace.stack_traces import is_standard, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.sdk._logs import LogRecordLimits
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    from otel_fastpath.compiled.facts import Facts
    from otel_fastpath.trace.planning.plan import ProcessorQueue

api_globals = vars(_api)
# Where a logger keeps its plan.
PLAN = "_otel_fastpath_plan"
# Methods of a logger that are not called here.
_METHODS = ("emit", "_is_enabled")
# How many records are left to stock before it is looked again whether the short way is open.
_PATIENCE = 100
# How many attributes describe an exception.
_OF_AN_EXCEPTION = 3
# Whether an exception is a field of stock's `LogRecord`.
HAS_EXCEPTIONS = "exception" in FIELDS
# Until 1.43, stock's batch processor queued the very record that it was given, with its context.
COPIES = "copy" in vars(_export)


class Backoff(Plan):
    """Whether the short way is open.

    Attributes:
        closed: How many records are still left to stock.
    """

    __slots__ = ("closed",)
    closed: int

    def close(self) -> None:
        """Leave the next records to stock."""
        self.closed = _PATIENCE


class LogPlan(Backoff):
    """What emitting a record needs to know of its logger, worked out once by `planner`.

    It is valid while `facts` hold, which are those of its provider, and while `fields`, the logger's `__dict__`, has no
    method; that is looked at again when it has not `size` items. The configuration and the resource are read for each
    record. Without a processor, `batch` is None; if the plan `forwards`, the processors are not stock's batch processor
    alone. Limits that are not set are `maxsize` in `most` and `longest`. If it `is_quiet`, no code that may log is
    called.
    """

    __slots__ = (
        *(
            "batch",
            "facts",
            "fields",
            "forwards",
            "is_quiet",
            "limits",
            "longest",
            "max_count",
            "max_length",
            "metrics",
        ),
        *("most", "record_class", "scope", "size"),
    )
    batch: ProcessorQueue | None
    facts: Facts
    fields: dict[str, Any]
    forwards: bool
    is_quiet: bool
    limits: LogRecordLimits
    longest: int
    max_count: int | None
    max_length: int | None
    metrics: Any
    most: int
    record_class: type
    scope: InstrumentationScope
    size: int


_make_plan: Callable[[object], LogPlan] | None = None
# Returned instead of attributes that only stock can store; compared by identity.
LEFT: dict[str, object] = {}


def configure(make_plan: Callable[[object], LogPlan]) -> None:
    """Set the function that makes the plan of a logger."""
    global _make_plan
    _make_plan = make_plan


def plan_of(logger: Any) -> LogPlan:
    """The plan of a logger."""
    # Not in its `__dict__`, which CPython would have to make: many loggers have one record, and no plan.
    found = getattr(logger, PLAN, None)
    if isinstance(found, LogPlan):
        plan = found
        if plan.owner == address(logger):
            return plan
    return _make_plan(logger)  # type: ignore[misc]  # set before this is called


def try_open(plan: LogPlan) -> bool:
    """Whether the way to the queue is open for a record of the logger now."""
    if plan.forwards or not try_use(plan):
        return False
    batch = plan.batch
    # For all that is unusual, stock logs a warning.
    return batch is None or not (len(batch.queue) >= batch.max_queue or batch.state["_shutdown"])


def try_use(plan: LogPlan) -> bool:
    """Whether the plan holds for a record now, and the logger is enabled."""
    if plan.closed > 0:
        plan.closed -= 1
        if plan.closed <= 0:
            plan.owner = 0
        return False
    if not plan.facts.hold() or (len(plan.fields) != plan.size and _look_for_methods(plan)):
        plan.close()
        return False
    # In 1.40, a logger has none.
    config = get_item(plan.fields, "_logger_config")
    return config is None or bool(config.is_enabled)


def _look_for_methods(plan: LogPlan) -> bool:
    """Whether a method was set on the logger."""
    for name in _METHODS:
        if name in plan.fields:
            return True
    plan.size = len(plan.fields)
    return False


def span_context_in(context: Context | None) -> SpanContext | None:
    """The span context of a record that is emitted in this context (None: the current one); None if stock knows."""
    span = span_in(context)
    if span is None:
        return INVALID_SPAN_CONTEXT
    if isinstance(span, Identity) and is_context_known():
        found = span.span_context()
    elif type(span) is NonRecordingSpan:
        found = span._context
    else:
        return None if isinstance(span, Span) else INVALID_SPAN_CONTEXT
    return found if type(found) is SpanContext else None


def send(
    plan: LogPlan,
    found: SpanContext,
    context: Context | None,
    timestamp: int | None,
    observed: int,
    number: Any,
    text: str | None,
    body: Any,
    attributes: dict[str, object] | None,
    event_name: Any,
    exception: BaseException | None,
) -> None:
    """Queue a record of these parts, emitted in this context (None: the current one) with this span context."""
    if plan.metrics is not None:
        plan.metrics.emit_log()
    batch = plan.batch
    if batch is None:
        return
    record = new_instance(plan.record_class)  # type: ignore[var-annotated]  # a `RecordState`
    record.timestamp = timestamp
    record.observed_timestamp = observed
    record.trace_id = item(found, 0)
    record.span_id = item(found, 1)
    record.trace_flags = item(found, 3)
    record.context = None if COPIES else (context or current())
    record.severity_number = number
    record.severity_text = text
    record.body = body if type(body) is str else copied(body)
    record.attribute_store = attributes
    record.bounded_attributes = None
    record.event_name = event_name
    record.exception = exception
    record.resource = plan.fields["_resource"]
    record.instrumentation_scope = plan.scope
    record.limits = plan.limits
    record.made = None
    enqueue(batch, record)


def try_emit(
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
) -> bool:
    """Emit a record of these parts; False if stock's method must do it."""
    if not try_open(plan):
        return False
    kept = stored_attributes(plan, attributes, exception)
    if kept is LEFT:
        return False
    found = span_context_in(context or None)
    if found is None:
        return False
    if observed is None:
        observed = read_clock(api_globals)
    send(plan, found, context, timestamp, observed, number, text, body, kept, event_name, exception)
    return True


def stored_attributes(plan: LogPlan, attributes: Any, exception: BaseException | None) -> dict[str, object] | None:
    """The attributes of a record as they are stored, or `LEFT`; None if there are none."""
    if attributes is not None and type(attributes) is not dict:
        return LEFT
    kept = None
    if attributes:
        kept = attributes.copy()
        state = is_clean(kept, plan.longest)
        room = plan.most if exception is None else plan.most - _OF_AN_EXCEPTION
        if state < 0 or len(kept) > room or (state == 0 and exception is not None):
            return LEFT
        if state == 0:
            kept = clean_attributes(kept, plan.longest)
    if exception is not None:
        first = _exception_attributes(plan, exception)
        if first is None:
            return LEFT
        if kept is not None:
            first.update(kept)
        kept = first
    return kept


def _exception_attributes(plan: LogPlan, exception: BaseException) -> dict[str, object] | None:
    """The attributes of an exception; None if stock must make them."""
    is_cut = plan.longest != maxsize or plan.most < _OF_AN_EXCEPTION
    if not HAS_EXCEPTIONS or is_cut or not isinstance(exception, BaseException) or not is_standard():
        return None
    kind = type(exception)
    module = kind.__module__
    return {
        "exception.type": f"{module}.{kind.__qualname__}" if module and module != "builtins" else kind.__qualname__,
        "exception.message": faults.text_of(exception),
        # Only the encoder knows what to do with one that is not made yet.
        "exception.stacktrace": stack_traces.text(exception) if plan.forwards else snapshot(exception, ()),
    }
