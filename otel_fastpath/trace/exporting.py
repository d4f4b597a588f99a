"""An ended span is exported by the thread that ends it. Plain Python; compiled as `exporting_c`.

The steps and their order are those of `opentelemetry.sdk.trace.export.SimpleSpanProcessor.on_end`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry import context as _context_api
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace import export as _export_api

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import attach_value, detach, restore
from otel_fastpath.trace.spans.identity import INVALID
from otel_fastpath.trace.spans.recorded import SpanState

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace.export import SimpleSpanProcessor


_PLACE: Final = "SimpleSpanProcessor.on_end"
# What is skipped: other code may replace it.
_CALLED = ("attach", "detach", "set_value")
_exporting = Facts(
    [
        *((_export_api, name, as_defined(_context_api, name)) for name in _CALLED),
        (ReadableSpan, "context", as_defined(ReadableSpan, "context")),
    ]
)


def bind_on_end(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `SimpleSpanProcessor.on_end`, which subclasses of the processor call, too."""
    switch = Switch()
    # Until 1.44, the processor's own metrics are recorded after the export, with its error.
    counts_first = "_shutdown" in original.__code__.co_names

    def on_end(self: SimpleSpanProcessor, span: ReadableSpan) -> None:
        try:
            if isinstance(span, SpanState) and not switch.inert and _try_export(self, span, counts_first):
                return
        except Exception as fault:
            # The span may be exported already.
            faults.absorb_any(_PLACE, fault)
            return
        original(self, span)

    return make_switchable(original, on_end, switch)


def _try_export(processor: SimpleSpanProcessor, span: SpanState, counts_first: bool) -> bool:
    """Export an ended span; False if stock's method must do it."""
    try:
        if span.trace_flags >= INVALID or not _exporting.hold():
            return False
        if not span.trace_flags & 1:
            return True
        if counts_first and processor._shutdown:
            return False
        # 1.40 has none.
        metrics = getattr(processor, "_metrics", None)
        token = attach_value(_SUPPRESS_INSTRUMENTATION_KEY, True)  # noqa: FBT003  # its value
    except Exception as fault:
        faults.absorb_any(_PLACE, fault)
        return False
    if token is None:
        return False
    try:
        if metrics is None:
            _export(processor, span)
        elif counts_first:
            metrics.finish_items(1)
            _export(processor, span)
        else:
            metrics.finish_items(1, _export(processor, span))
        detach(token)
    except BaseException:
        restore(token)
        raise
    return True


def _export(processor: SimpleSpanProcessor, span: SpanState) -> Exception | None:
    """Export the span; return the error if the exporter failed, which is logged as by stock."""
    try:
        processor.span_exporter.export((span,))  # type: ignore[arg-type]  # a `ReadableSpan` by its class in `span_classes`
    except Exception as error:
        faults.raise_interruption(error)
        _export_api.logger.exception("Exception while exporting Span.")
        return error
    return None
