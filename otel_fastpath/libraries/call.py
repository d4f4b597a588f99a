"""The call skeleton: what every wrapper does around a call of the host.

A wrapper has one `Telemetry` for its library, hands over a span name and ready attributes for each call, and describes
errors. Everything else is here: suppression, the current span, the host's call exactly once, errors, the duration
metric, and that no fault of ours reaches the host.

The short way, for a call whose span ends when the call returns or raises::

    def create(self, *args, **kwargs):
        return call(telemetry, "chat gpt-5", attributes, series, done, original, (self, *args), kwargs)

    async def create(self, *args, **kwargs):
        return await call_async(telemetry, "chat gpt-5", attributes, series, done, original, (self, *args), kwargs)

`done(call, result)` may be None; it gives the result to hand to the host, usually the very same. It adds what the
result tells, `if call.recording: call.span.set_attributes(...)`, and may set `call.series` to one that is known only
now. For a result that goes on, such as a stream, it sets `call.is_held = True`: the skeleton then restores the context
and leaves the rest, `call.end()` or `call.fail(error)`, to whoever holds the call.

The long way is the same in pieces: `begin`, then `leave` and `end` or `fail`::

    call = begin(telemetry, name, attributes, series)   # None: nobody looks; just call the host
    try:
        result = original(...)
    except BaseException as error:
        call.fail(error)
        raise
    call.end()

`begin`, `leave`, `end` and `fail` raise no `Exception`; `end` and `fail` restore the context, record the duration and
end the span, once and in this order, and each of these steps whatever became of the one before.
Attributes are not copied before the tracer does: one dict can be used for any number of calls if nobody changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from opentelemetry.trace import SpanKind

from otel_fastpath import compiled
from otel_fastpath.libraries.failure import Failure, describe, error_type
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching.outcome import absorbed
from otel_fastpath.trace import kept_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Tracer

__all__ = [
    "Call",
    "Failure",
    "Series",
    "Telemetry",
    "begin",
    "call",
    "call_async",
    "describe",
    "error_type",
    "finish",
    "is_suppressed",
]

# So many types of errors have a bound instrument of their own, and none whose name is very long.
_MOST_ERROR_TYPES: Final = 32
_LONGEST_ERROR_TYPE: Final = 255


class Telemetry:
    """What all calls of one wrapper have in common.

    Args:
        tracer: Starts the spans.
        kind: Of the spans.
        describe: What is told of an exception that the host's call raised; must not raise.
        has_meter: Whether the metrics go to a provider of their own; else to the global one, once it is set.
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


class Series:
    """A duration histogram with the attributes of the calls that it is for, bound once.

    Args:
        histogram: In seconds.
        attributes: Those of a call that succeeds.
        status_key: What is taken over from a failure's attributes where it is there: "db.response.status_code".

    Attributes:
        bound: The histogram with the attributes of a call that succeeds.
    """

    __slots__ = ("_attributes", "_failed", "_histogram", "_status_key", "bound")

    def __init__(self, histogram: Histogram, attributes: Mapping[str, Any], status_key: str = "") -> None:
        self._histogram = histogram
        self._attributes = attributes
        self._status_key = status_key
        self._failed: dict[str, Any] = {}
        self.bound = bind(histogram, attributes)

    def record_failed(self, seconds: float, failure: Failure) -> None:
        """Record a call that failed."""
        handle = self._failed.get(failure.type)
        if handle is None:
            attributes = {**self._attributes, "error.type": failure.type}
            if self._status_key and failure.attributes and self._status_key in failure.attributes:
                attributes[self._status_key] = failure.attributes[self._status_key]
            if len(self._failed) >= _MOST_ERROR_TYPES or len(failure.type) > _LONGEST_ERROR_TYPE:
                self._histogram.record(seconds, attributes)
                return
            handle = self._failed[failure.type] = bind(self._histogram, attributes)
        handle.record(seconds)


class Call(Protocol):
    """One call of the host that is looked at. Made by `begin`; the class is `call_span.Call`.

    Attributes:
        span: Its span; a non-recording one where it was not sampled.
        recording: Whether attributes are worth making.
        series: Where the duration goes; None: nowhere.
        is_held: Set by `done` where somebody else ends the call.
    """

    span: Any
    recording: bool
    series: Any
    is_held: bool

    def leave(self) -> None:
        """Restore the context; the span goes on."""

    def end(self) -> None:
        """End the span and record the duration of a call that succeeded."""

    def fail(self, error: BaseException) -> None:
        """End the span and record the duration of a call that raised this."""


def is_suppressed() -> bool:
    """Whether somebody asked for no telemetry in the current context."""
    suppressed: bool = compiled.hot("libraries.call_span").is_suppressed()
    return suppressed


def begin(
    telemetry: Telemetry,
    name: str,
    attributes: Mapping[str, Any] | None,
    series: Series | None = None,
    start_ns: int | None = None,
) -> Call | None:
    """Start a span, make it the current one, start the clock.

    Args:
        telemetry: The wrapper's.
        name: Of the span.
        attributes: Of the span at its creation.
        series: Where the duration goes.
        start_ns: When the span started, in nanoseconds since the epoch, if that was before.

    Returns:
        The call; None where it is suppressed, where there is no SDK and no meter, or by a fault of ours.
    """
    made: Call | None = compiled.hot("libraries.call_span").begin(telemetry, name, attributes, series, start_ns)
    return made


def finish(call: Call, result: Any, done: Callable[[Call, Any], Any] | None) -> Any:
    """End a call that gave this result, as its `done` says; gives what the host gets."""
    if done is not None:
        try:
            result = done(call, result)
        except BaseException as error:
            absorbed("the result of a wrapped call", call, error)
    if call.is_held:
        call.leave()
    else:
        call.end()
    return result


def call(
    telemetry: Telemetry,
    name: str,
    attributes: Mapping[str, Any] | None,
    series: Series | None,
    done: Callable[[Call, Any], Any] | None,
    host: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call the host inside a span. See the module's text for the arguments."""
    made = begin(telemetry, name, attributes, series)
    if made is None:
        return host(*args, **kwargs)
    try:
        result = host(*args, **kwargs)
    except BaseException as error:
        made.fail(error)
        raise
    return finish(made, result, done)


async def call_async(
    telemetry: Telemetry,
    name: str,
    attributes: Mapping[str, Any] | None,
    series: Series | None,
    done: Callable[[Call, Any], Any] | None,
    host: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Await the host's call inside a span. See the module's text for the arguments."""
    made = begin(telemetry, name, attributes, series)
    if made is None:
        return await host(*args, **kwargs)
    try:
        result = await host(*args, **kwargs)
    except BaseException as error:
        made.fail(error)
        raise
    return finish(made, result, done)


def _watch_tracer(starter: kept_spans.Starter) -> None:
    if starter.core:
        hot = compiled.hot("libraries.call_span", starter.core)
        hot.watch_tracer(starter.tracer_class, starter.start_span, starter.spans)


kept_spans.listen(_watch_tracer)
