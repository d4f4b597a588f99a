"""OTLP logs requests as bytes, assembled like those of spans, see `trace_requests`.

A record that upstream's encoder rejects would be the loss of its batch. Here it is altered: text that is not Unicode,
numbers beyond 64 bits and objects of other types become text that can be sent; the rest of the batch is sent as it is.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk._logs import ReadableLogRecord

from otel_fastpath.locks import Tally
from otel_fastpath.otlp.trace_requests import Encoder, _RefusedError, _theirs

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.trace_requests import Upstream

_logger = logging.getLogger(__name__)
_counts: Final = Tally()
_ALTERED: Final = "altered"
_DROPPED: Final = "dropped"
# Of a body; what is deeper, and what comes after so many values, becomes this text. A body may contain itself.
_DEEPEST: Final = 16
_MOST_VALUES: Final = 10_000
_LEFT_OUT: Final = "..."
_32_BITS: Final = 1 << 32
_64_BITS: Final = 1 << 64
_128_BITS: Final = 1 << 128
_LARGEST: Final = (1 << 63) - 1


def counts() -> dict[str, int]:
    """How many log records could not be encoded as they were: "altered", or "dropped" where that did not help."""
    return dict(_counts)


class LogsEncoder(Encoder):
    """Encodes batches of log records; thread-safe.

    Args:
        hot: The module `encoder` or its compiled twin.
        encode_logs: The function of this core that appends log records.
        upstream: Upstream's functions; here `span` encodes one log record.
    """

    def __init__(self, hot: Any, encode_logs: Callable[..., int], upstream: Upstream) -> None:
        super().__init__(hot, upstream)
        self._encode_run = encode_logs

    def _leave(self, batch: Any, span: Any) -> None:
        """Let upstream encode the record, or one that is altered so that it can be encoded."""
        resource, scope = span.resource, span.instrumentation_scope or None
        try:
            encoded = _theirs(self._upstream.span, span)
        except _RefusedError as error:
            found = self._altered(span, error.why)
            if found is None:
                return
            encoded = found
        batch.spans_of(resource, scope).add(encoded)

    def _altered(self, record: Any, why: Exception) -> bytes | None:
        try:
            encoded = self._upstream.span(altered(record))
        except Exception as error:  # whatever a record of other code's class does
            _note(_DROPPED, error)
            return None
        _note(_ALTERED, why)
        return encoded


def _note(what: str, error: BaseException) -> None:
    if _counts.add(what):
        _logger.warning("A log record cannot be encoded and is %s: %r. Further ones are only counted.", what, error)


def altered(record: Any) -> Any:
    """A copy of the record with all of its fields such that upstream can encode them."""
    log_record = copy.copy(record.log_record)
    log_record.timestamp = _time(log_record.timestamp)
    log_record.observed_timestamp = _time(log_record.observed_timestamp)
    log_record.trace_id = _id(log_record.trace_id, _128_BITS)
    log_record.span_id = _id(log_record.span_id, _64_BITS)
    log_record.trace_flags = _id(log_record.trace_flags, _32_BITS)
    log_record.body = _value(log_record.body, 0, [_MOST_VALUES])
    for name in ("severity_text", "event_name"):
        text = getattr(log_record, name)
        setattr(log_record, name, None if text is None else _text(text))
    return ReadableLogRecord(log_record, record.resource, record.instrumentation_scope, record.limits)


def _time(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < _64_BITS else None


def _id(value: Any, end: int) -> int:
    return value if isinstance(value, int) and 0 <= value < end else 0


def _text(value: Any) -> str:
    """The text of a value, with `?` for what is not Unicode."""
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception:  # of other people's `__str__`
        text = f"<unprintable {type(value).__name__} object>"
    return str.encode(text, errors="replace").decode()


def _value(value: Any, depth: int, left: list[int]) -> Any:
    """A value that can be encoded.

    Args:
        value: The body, or a part of it.
        depth: How deep in the body this is.
        left: How many values are still taken, in a list of one.
    """
    left[0] -= 1
    if value is None or isinstance(value, bool | float | bytes):
        return value
    if isinstance(value, int):
        return value if ~_LARGEST <= value <= _LARGEST else hex(value)
    is_mapping = isinstance(value, Mapping)
    if isinstance(value, str) or not (is_mapping or isinstance(value, Sequence)):
        return _text(value)
    if depth > _DEEPEST or left[0] < 0:
        return _LEFT_OUT
    if is_mapping:
        return {_text(key): _value(each, depth + 1, left) for key, each in value.items()}
    return [_value(each, depth + 1, left) for each in value]
