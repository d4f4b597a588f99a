"""The class of the fast path's log records, which exporters get. Stock's `LogRecord` is made on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry._logs import LogRecord
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord

from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.lazy import DROPPED, Lazy

if TYPE_CHECKING:
    from opentelemetry.sdk._logs import LogRecordLimits

# The fields of stock's record, whose class declares none. Since 1.42, `exception` is one.
FIELDS: Final = frozenset(vars(LogRecord()))


def attribute_limits(limits: LogRecordLimits) -> tuple[int | None, int | None]:
    """The most attributes of a record, and the longest text in them: since 1.44, log records have their own limits."""
    own = "log_record_" if hasattr(limits, "max_log_record_attributes") else ""
    return getattr(limits, f"max_{own}attributes"), getattr(limits, f"max_{own}attribute_length")


def make_record_class(state: Any) -> type:
    """Make the class of log records.

    Args:
        state: `record.RecordState` of one core.
    """

    class FastLogRecord(state, ReadableLogRecord):  # type: ignore[misc]  # one core's class
        """An `opentelemetry.sdk._logs.ReadableLogRecord` whose `log_record` is made on first use."""

        # Stock's class is frozen: each store would be a call that raises.
        __setattr__ = object.__setattr__
        __delattr__ = object.__delattr__

        def __init__(
            self, log_record: Any, resource: Any, instrumentation_scope: Any = None, limits: Any = None
        ) -> None:
            """Make it as stock's class is made: `dataclasses.replace` does."""
            self.made = log_record
            self.resource = resource  # type: ignore[misc]  # stock's class is frozen
            self.instrumentation_scope = instrumentation_scope  # type: ignore[misc]  # likewise
            self.limits = limits  # type: ignore[misc]  # likewise

        @property
        def log_record(self) -> Any:
            """Stock's record, made now if it was not made before."""
            made = self.made
            return _publish(self, _stocks_own(self)) if made is None else made

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copies, and what is pickled, are stock's."""
            return ReadableLogRecord, (self.log_record, self.resource, self.instrumentation_scope, self.limits)

    FastLogRecord.__name__ = FastLogRecord.__qualname__ = ReadableLogRecord.__qualname__
    return FastLogRecord


@critical_section
def _publish(record: Any, made: Any) -> Any:
    """Keep stock's record, unless another thread has made one meanwhile; return the one that is kept."""
    if record.made is None:
        record.made = made
    return record.made


def _stocks_own(record: Any) -> LogRecord:
    made = LogRecord.__new__(LogRecord)
    vars(made).update(
        timestamp=record.timestamp,
        observed_timestamp=record.observed_timestamp,
        # Stock's batch processor empties it, too.
        context=Context() if record.context is None else record.context,
        trace_id=record.trace_id,
        span_id=record.span_id,
        trace_flags=record.trace_flags,
        severity_text=record.severity_text,
        severity_number=record.severity_number,
        body=record.body,
        attributes=_attributes(record),
        event_name=record.event_name,
    )
    if "exception" in FIELDS:
        made.exception = record.exception
    return made


def _attributes(record: Any) -> BoundedAttributes:
    if record.bounded_attributes is not None:
        return record.bounded_attributes  # type: ignore[no-any-return]  # as it is declared
    most, longest = attribute_limits(record.limits)
    # Stock says so, too: before 1.45, it is what allows all types of values.
    bounded = BoundedAttributes(most, immutable=False, max_value_len=longest, extended_attributes=True)
    values = {
        key: value.value() if isinstance(value, Lazy) else value
        for key, value in (record.attribute_store or {}).items()
    }
    bounded._dict = {key: value for key, value in values.items() if value is not DROPPED}
    return bounded
