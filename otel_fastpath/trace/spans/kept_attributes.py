"""What becomes of attributes that a hook sets after the start of a span. Compiled as `kept_attributes_c`."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import NonRecordingSpan

from otel_fastpath.compiled.helpers import has_no_fields
from otel_fastpath.trace.spans.identity import Dropped
from otel_fastpath.trace.spans.recorded import SpanState

# A span with room for more attributes than a hook sets keeps each of them until the last is set.
_ROOM = 32


def keeps_all(span: Any) -> bool:
    """Whether it records, and several attributes that are set in one go are those that are set one by one."""
    if not isinstance(span, SpanState):
        return False
    own = span
    return own._end_time is None and own.plan.max_attributes >= _ROOM and has_no_fields(own)


def is_silent(span: Any) -> bool:
    """Whether it records nothing."""
    return isinstance(span, Dropped) or type(span) is NonRecordingSpan
