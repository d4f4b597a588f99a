"""The fields of a log record that are encoded, with the rule for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from otel_fastpath.otlp.altering.rules import (
    Fields,
    accepted,
    any_attributes,
    dropped,
    identifier,
    in_any_value,
    optional,
    text,
    time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def _severity(number: Any) -> LogRecord:
    # As stock reads it.
    value: Any = getattr(number, "value", None)
    return LogRecord(severity_number=value)


LOG_RECORD: Final = Fields(
    "log_record",
    log_record=Fields(
        "log_record",
        timestamp=time,
        observed_timestamp=time,
        trace_id=optional(identifier(16), 0),
        span_id=optional(identifier(8), 0),
        trace_flags=optional(accepted(lambda flags: LogRecord(flags=int(flags))), 0),
        body=in_any_value,
        severity_text=text,
        severity_number=optional(accepted(_severity), None),
        attributes=any_attributes,
        event_name=text,
    ),
    dropped_attributes=dropped,
)


def attributes(record: Any, encoded: Any) -> Iterator[tuple[str, Any, Any]]:
    """The name of the field, the attributes of a log record, and those of its message."""
    yield "log_record.attributes", record.log_record.attributes, encoded.attributes
