"""How a span is started that would not be dropped, told to those who start spans without importing the SDK.

The patch of `Tracer.start_span` says it; `otel_fastpath.libraries` listens. Neither imports the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Starter(NamedTuple):
    """What starts the spans of the SDK's tracers.

    Attributes:
        core: The implementation that this is about, "c" or "py"; empty: neither was put in place yet.
        tracer_class: `opentelemetry.sdk.trace.Tracer`; None: its `start_span` is upstream's own.
        start_span: What stands in its place for as long as nobody wraps it.
        spans: A `trace.start.KeptSpans`.
    """

    core: str = ""
    tracer_class: Any = None
    start_span: Any = None
    spans: Any = None


_starter = Starter()
_listeners: list[Callable[[Starter], object]] = []


def listen(listener: Callable[[Starter], object]) -> None:
    """Have the listener called with the starter now, and whenever it changes."""
    _listeners.append(listener)
    _tell(listener)


def put(starter: Starter) -> None:
    """Say what starts spans from now on."""
    global _starter
    _starter = starter
    for listener in tuple(_listeners):
        _tell(listener)


def _tell(listener: Callable[[Starter], object]) -> None:
    while True:
        starter = _starter
        listener(starter)
        # Otherwise another thread put one meanwhile, and the listener may have heard of that before.
        if starter is _starter:
            return
