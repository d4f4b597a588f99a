"""What both cores leave to the interpreter: it sets attributes of stock's objects in a tenth of the steps that C takes.

From C, each attribute is looked up in the class and in the keys that instances share; the interpreter knows the place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def fill_attributes(made: Any, store: Any, most: Any, longest: Any, threading: Any, immutable: bool) -> None:
    """Set the fields of a `BoundedAttributes`."""
    made._dict = store
    made.maxlen = most
    made.dropped = 0
    made.max_value_len = longest
    made._lock = threading.Lock()
    made._immutable = immutable


def fill_record(
    made: Any,
    timestamp: Any,
    observed: Any,
    context: Any,
    trace_id: Any,
    span_id: Any,
    flags: Any,
    text: Any,
    number: Any,
    body: Any,
    attributes: Any,
    event_name: Any,
) -> None:
    """Set the fields of a `LogRecord` but for the exception, which not each release has."""
    made.timestamp = timestamp
    made.observed_timestamp = observed
    made.context = context
    made.trace_id = trace_id
    made.span_id = span_id
    made.trace_flags = flags
    made.severity_text = text
    made.severity_number = number
    made.body = body
    made.attributes = attributes
    made.event_name = event_name


def fill_whole(made: Any, record: Any, resource: Any, scope: Any, limits: Any) -> None:
    """Set the fields of a `ReadWriteLogRecord`."""
    made.log_record = record
    made.resource = resource
    made.instrumentation_scope = scope
    made.limits = limits
