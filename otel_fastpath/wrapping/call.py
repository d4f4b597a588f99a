"""The call skeleton: what every wrapper does around a call of the host.

A wrapper has one `WrapperTelemetry` for its library, passes a span name and ready attributes for each call, and
describes errors. Everything else is here: suppression, the current span, calling the host exactly once, errors, the
duration metric, and keeping our own errors away from the host.

    call = new()
    try:
        begin(call, telemetry, name, attributes, series)
        result = original(...)
        call.end()
    except BaseException as error:
        try:
            call.fail(error)
        finally:
            call.fail(error)
        raise

`end` and `fail` do nothing for a call that has not begun, or has ended. So the second `fail` does nothing, unless an
exception of a signal handler interrupted the first one at its beginning.

For a result that continues, such as a stream, `call.leave()` restores the context when the host's call has returned,
and `call.end()` or `call.fail(error)` follows when the result is there.

Errors of our own are reported. Any other exception, of a processor or a time limit, is raised. `end` and `fail` restore
the context, record the duration and end the span, once and in this order; each step is done even if the one before
failed. After an exception of `end`, `fail` does what is left.
Only the tracer copies attributes: one dict can be used for any number of calls if it is not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.trace import SpanKind

from otel_fastpath.compiled import hot
from otel_fastpath.metrics.bind import bind
from otel_fastpath.wrapping import tracers
from otel_fastpath.wrapping.failure import Failure, describe, error_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Tracer

    from otel_fastpath.wrapping.call_span import Call

__all__ = [
    "CallDurations",
    "Failure",
    "WrapperTelemetry",
    "begin",
    "describe",
    "error_type",
    "is_suppressed",
    "new",
]

# At most so many error types get a bound instrument of their own; a type with a very long name gets none.
_MOST_ERROR_TYPES: Final = 32
_LONGEST_ERROR_TYPE: Final = 255
# At most so many further ones get a series of their own; the rest is one, which has the conventions' fallback.
_MOST_FURTHER_TYPES: Final = 96
_OTHER: Final = "_OTHER"


class WrapperTelemetry:
    """What all calls of one wrapper have in common.

    Args:
        tracer: Starts the spans.
        kind: The kind of the spans.
        describe: Describes an exception that the host's call raised; must not raise.
        has_meter: Whether a meter provider was given; otherwise metrics go to the global one, once it is set.
    """

    __slots__ = ("describe", "has_meter", "kind", "tracer")

    def __init__(
        self,
        tracer: Tracer,
        kind: SpanKind = SpanKind.CLIENT,
        describe: Callable[[BaseException], Failure] = describe,
        *,
        has_meter: bool = True,
    ) -> None:
        self.tracer: Any = tracer
        self.kind = kind
        self.describe = describe
        self.has_meter = has_meter


class CallDurations:
    """A duration histogram, bound once to the attributes of its calls.

    Args:
        histogram: The histogram, in seconds.
        attributes: The attributes of a call that succeeds.
        status_key: The attribute to copy from a failure's attributes, if present: "db.response.status_code".

    Attributes:
        bound: The histogram with the attributes of a call that succeeds.
    """

    __slots__ = ("_attributes", "_failed", "_further", "_histogram", "_status_key", "bound")

    def __init__(self, histogram: Histogram, attributes: Mapping[str, Any], status_key: str = "") -> None:
        self._histogram = histogram
        self._attributes = attributes
        self._status_key = status_key
        self._failed: dict[str, Any] = {}
        self._further: set[str] = set()
        self.bound = bind(histogram, attributes)

    def record_failed(self, seconds: float, failure: Failure) -> None:
        """Record a call that failed."""
        handle = self._failed.get(failure.type)
        if handle is None:
            attributes = {**self._attributes, "error.type": failure.type}
            if self._status_key and failure.attributes and self._status_key in failure.attributes:
                attributes[self._status_key] = failure.attributes[self._status_key]
            if len(self._failed) >= _MOST_ERROR_TYPES or len(failure.type) > _LONGEST_ERROR_TYPE:
                if failure.type not in self._further:
                    if len(self._further) >= _MOST_FURTHER_TYPES:
                        attributes = {**self._attributes, "error.type": _OTHER}
                    else:
                        self._further.add(failure.type)
                self._histogram.record(seconds, attributes)
                return
            handle = self._failed[failure.type] = bind(self._histogram, attributes)
        handle.record(seconds)


def is_suppressed() -> bool:
    """Whether instrumentation is suppressed in the current context."""
    return hot.wrapping_call_span.is_suppressed()


def new() -> Any:
    """A call that has not begun: whoever keeps it can end it, wherever an exception interrupts its beginning."""
    return hot.wrapping_call_span.new_call()


def begin(
    call: Call,
    telemetry: WrapperTelemetry,
    name: str,
    attributes: Mapping[str, Any] | None,
    series: CallDurations | None = None,
    start_ns: int | None = None,
) -> bool:
    """Start a span, make it the current one, start the clock.

    Args:
        call: What `new` made.
        telemetry: The wrapper's `WrapperTelemetry`.
        name: The name of the span.
        attributes: The attributes of the span at its creation.
        series: Records the duration.
        start_ns: When the span started, in nanoseconds since the epoch, if it started earlier.

    Returns:
        Whether it has begun; False if it is suppressed, if there is neither an SDK nor a meter, or after an error of
        ours.
    """
    call_span = hot.wrapping_call_span
    return bool(call_span.begin_call(call, telemetry, name, attributes, series, start_ns))


tracers.watch()
