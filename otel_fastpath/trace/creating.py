"""Lets stock's own `Tracer.start_span`, where its source is not known, create spans of the fast path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace import Span

from otel_fastpath.compiled import hot
from otel_fastpath.patching.swapping.swap import Swap

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.trace.set_up import Ready

_swaps: Final[list[Swap]] = []


def leave_start(original: Callable[..., Any], ready: Ready) -> Callable[..., Any]:
    """Replace the constructor of spans, and return the replacement for `Tracer.start_span`."""
    ready.planner.leaves_start = True
    steps = hot.trace_stock_steps
    constructor = Swap(Span, "__new__")
    constructor.put(staticmethod(steps.bind_new(constructor.original.__func__)))
    _swaps.append(constructor)
    return steps.bind_start_span(original)


def give_back() -> None:
    """Restore stock's constructor."""
    while _swaps:
        _swaps.pop().take_off()
