"""A log record from the call that makes it to the encoder. Plain Python; compiled as `record_c` with its `.pxd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.attributes import BoundedAttributes
    from opentelemetry.context import Context
    from opentelemetry.sdk._logs import LogRecordLimits
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope


class RecordState:
    """What a log record consists of. Combined with `opentelemetry.sdk._logs.ReadableLogRecord` in `record_class`.

    The attributes are in `attribute_store` (None if there are none), or in stock's container, `bounded_attributes`,
    if that existed before. `made` is stock's `LogRecord` once other code has asked for it; it then has the data, and
    may have been changed. Until 1.43, stock's record keeps its `context`; None: it is emptied.
    """

    __slots__ = (
        "attribute_store",
        "body",
        "bounded_attributes",
        "context",
        "event_name",
        "exception",
        "instrumentation_scope",
        "limits",
        "made",
        "observed_timestamp",
        "resource",
        "severity_number",
        "severity_text",
        "span_id",
        "timestamp",
        "trace_flags",
        "trace_id",
    )
    attribute_store: dict[str, object] | None
    body: Any
    bounded_attributes: BoundedAttributes | None
    context: Context | None
    event_name: str | None
    exception: BaseException | None
    instrumentation_scope: InstrumentationScope | None
    limits: LogRecordLimits | None
    made: LogRecord | None
    observed_timestamp: int
    resource: Resource
    severity_number: SeverityNumber | None
    severity_text: str | None
    span_id: int
    timestamp: int | None
    trace_flags: int
    trace_id: int
