"""Copies of stock's log records in the batch queue. Plain Python; compiled as `queueing_c`.

They come from `Logger.emit(record)`, or through other processors to `BatchLogRecordProcessor.on_emit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry._logs import LogRecord
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk._logs import ReadWriteLogRecord

from otel_fastpath.compiled.helpers import get_item, new_instance
from otel_fastpath.logs.records.bodies import copied
from otel_fastpath.logs.records.emitting import COPIES, LEFT, LogPlan, stored_attributes, try_open
from otel_fastpath.logs.records.record_class import FIELDS
from otel_fastpath.logs.records.stock_records import bound_attributes
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.planning.plan import enqueue
from otel_fastpath.trace.spans.ending import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from otel_fastpath.logs.records.record import RecordState

_record_class: type | None = None
# How many fields stock's record has.
_FIELDS = len(FIELDS)


def configure(record_class: type) -> None:
    """Set the class of records."""
    global _record_class
    _record_class = record_class


def bind_on_emit(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `BatchLogRecordProcessor.on_emit`, for records that other processors have seen."""
    switch = Switch()

    def on_emit(self: Any, log_record: Any) -> object:
        try:
            if not switch.inert and _try_queue(self, log_record):
                return None
        except Exception as error:
            faults.absorb("BatchLogRecordProcessor.on_emit", error)
        return original(self, log_record)

    return make_switchable(original, on_emit, switch)


def _try_queue(processor: Any, whole: Any) -> bool:
    """Queue a copy of the record; False if stock's method must do it."""
    batch = batch_of(processor)
    if batch is None or type(whole) is not ReadWriteLogRecord or whole.resource is None:
        return False
    inner = whole.log_record
    if type(inner) is not LogRecord:
        return False
    fields = inner.__dict__
    attributes = fields["attributes"]
    if type(attributes) is not BoundedAttributes or len(fields) != _FIELDS:
        return False
    record = _copy(fields)
    # The very same one, as stock's copy has it.
    record.bounded_attributes = attributes
    record.resource = whole.resource
    record.instrumentation_scope = whole.instrumentation_scope
    record.limits = whole.limits
    record.made = None if COPIES else inner
    enqueue(batch, record)  # type: ignore[arg-type]  # a `ReadableLogRecord` by its class in `record_class`
    return True


def try_emit_given(plan: LogPlan, given: Any) -> bool:
    """Emit a record that the application made; False if stock's method must do it."""
    if type(given) is not LogRecord or not try_open(plan):
        return False
    fields = given.__dict__
    exception = get_item(fields, "exception")
    kept = LEFT if len(fields) != _FIELDS else stored_attributes(plan, fields["attributes"], exception)
    if kept is LEFT:
        return False
    # With an exception, stock adds its attributes to a copy of the record, which nobody else sees.
    bounded = None
    if exception is None:
        bounded = fields["attributes"] = bound_attributes(plan, kept)
    if plan.metrics is not None:
        plan.metrics.emit_log()
    batch = plan.batch
    if batch is None:
        return True
    record = _copy(fields)
    record.bounded_attributes = bounded
    if bounded is None:
        record.attribute_store = kept
    record.resource = plan.fields["_resource"]
    record.instrumentation_scope = plan.scope
    record.limits = plan.limits
    if not COPIES:
        record.context = fields["context"]
        record.made = None if bounded is None else given
    enqueue(batch, record)  # type: ignore[arg-type]  # likewise
    return True


def _copy(fields: dict[str, Any]) -> RecordState:
    """The fields of stock's record in one of the queue, but for the attributes and what is the logger's."""
    record: RecordState = new_instance(_record_class)  # type: ignore[arg-type]  # set before this is called
    record.timestamp = fields["timestamp"]
    record.observed_timestamp = fields["observed_timestamp"]
    record.trace_id = fields["trace_id"]
    record.span_id = fields["span_id"]
    record.trace_flags = fields["trace_flags"]
    record.severity_number = fields["severity_number"]
    record.severity_text = fields["severity_text"]
    body = fields["body"]
    record.body = body if type(body) is str else copied(body)
    record.attribute_store = record.bounded_attributes = record.context = record.made = None
    record.event_name = fields["event_name"]
    record.exception = get_item(fields, "exception")
    return record
