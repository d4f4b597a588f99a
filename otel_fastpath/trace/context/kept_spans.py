"""Gives code that does not import the SDK a way to start a span only if it would be recorded.

The patch of `Tracer.start_span` publishes it and `otel_fastpath.wrapping` subscribes. Neither imports the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class TracerPatch(NamedTuple):
    """Starts the spans of the SDK's tracers.

    Attributes:
        core: The implementation in use, "c" or "py"; empty if none was used yet.
        tracer_class: `opentelemetry.sdk.trace.Tracer`; None if its `start_span` is not patched.
        start_span: The replacement of its `start_span`, to see whether other code has wrapped it.
        spans: A `trace.start.KeptSpans`.
    """

    core: str = ""
    tracer_class: Any = None
    start_span: Any = None
    spans: Any = None


_starter = TracerPatch()
# Those who are called.
listeners: list[Callable[[TracerPatch], object]] = []


def listen(listener: Callable[[TracerPatch], object]) -> None:
    """Call the listener with the starter now, and whenever the starter changes."""
    listeners.append(listener)
    _notify(listener)


def put(starter: TracerPatch) -> None:
    """Set the starter, and call the listeners."""
    global _starter
    _starter = starter
    for listener in tuple(listeners):
        _notify(listener)


def _notify(listener: Callable[[TracerPatch], object]) -> None:
    while True:
        starter = _starter
        listener(starter)
        # Otherwise another thread set a new one meanwhile, and the listener may have been called with that one first.
        if starter is _starter:
            return
