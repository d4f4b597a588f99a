"""What becomes of attributes that a hook sets after the start of a span. Compiled as `kept_attributes_c`."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import NonRecordingSpan

from otel_fastpath.compiled.helpers import has_no_fields
from otel_fastpath.patching import faults
from otel_fastpath.trace.spans.identity import Dropped
from otel_fastpath.trace.spans.recorded import SpanState
from otel_fastpath.wrapping.starting import end_span

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


def describe(span: Any, attributes: dict[str, Any], place: str) -> None:
    """Set attributes as if each was set by itself; a fault is reported under this place."""
    try:
        if is_silent(span):
            return
        if keeps_all(span):
            span.set_attributes(attributes)
        elif span.is_recording():
            for key, value in attributes.items():
                span.set_attribute(key, value)
    except Exception as error:
        faults.absorb(place, error)


def finish(span: Any, attributes: dict[str, Any], place: str) -> None:
    """Likewise, and end the span."""
    try:
        describe(span, attributes, place)
    finally:
        end_span(span, place)
