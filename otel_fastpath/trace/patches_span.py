"""The methods of a span: `opentelemetry.sdk.trace.Span`, and the processors of stock that get it at its end.

Each method has a patch of its own. If other code has replaced one of them, its replacement is called, and the others
stay fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch, ReplacedError
from otel_fastpath.patching.sources.guard import check_source
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.patching.stock import is_defined_in
from otel_fastpath.trace.stock_sources import CLEANING, LINKS, SDK, sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.sdk.trace"
_OWNERS: Final = {
    ":Span": "span",
    ".export:BatchSpanProcessor": "batch_processor",
    ".export:SimpleSpanProcessor": "simple_processor",
}


# The methods that are given attributes.
_GIVEN_ATTRIBUTES: Final = frozenset({"add_event", "add_link", "record_exception", "set_attribute", "set_attributes"})


def _check(original: Any, target: str) -> None:
    """Check the source of a method that stock's decorator hides from the guard.

    Raises:
        ReplacedError: The method is not stock's own.
        UnknownError: It is not one that this package knows.
    """
    from opentelemetry.sdk import trace  # noqa: PLC0415  # only where it is being patched

    if not is_defined_in(trace, original):
        raise ReplacedError(f"{target} is replaced already, by {origin(original)}")
    (method,) = [cell.cell_contents for cell in original.__closure__]
    check_source(target, method, sources(target)[target])


def _patch(
    method: str, bind: Callable[[], Any], why: str, budget: str, *rests_on: str, parts: tuple[str, ...] = ()
) -> Patch:
    owner, _, name = method.rpartition(".")
    target = f"{_MODULE}{owner}.{name}"
    is_hidden = f"{_MODULE}:_check_span_ended" in rests_on

    def make(original: Any, _settings: Config) -> Any:
        if is_hidden:
            _check(original, target)
        return bind()(original)

    return Patch(
        name=f"{_OWNERS[owner]}.{name}",
        target=target,
        why=why,
        make=make,
        requires=SDK,
        sources=sources(*rests_on, *(() if is_hidden else (target,))) | (CLEANING if name in _GIVEN_ATTRIBUTES else {}),
        parts=sources(*parts),
        budgets=(budget,),
    )


PATCHES: Final = (
    _patch(
        ":Span.set_attribute",
        lambda: hot.trace_spans_span.bind_set_attribute,
        "A lock, a container and a cleaning function for each attribute: 4,400 instructions; here one dict.",
        "set_attribute",
        "opentelemetry.attributes:BoundedAttributes.__setitem__",
    ),
    _patch(
        ":Span.set_attributes",
        lambda: hot.trace_spans_span.bind_set_attributes,
        "Each attribute is set and cleaned on its own; here a dict of plain values is copied.",
        "set_attributes, 7",
        "opentelemetry.attributes:BoundedAttributes.__setitem__",
    ),
    _patch(
        ":Span.set_status",
        lambda: hot.trace_spans_span.bind_set_status,
        "Takes a lock that the fast path's spans have only once other code asks for it.",
        "set_status",
        f"{_MODULE}:_check_span_ended",
        "opentelemetry.trace.status:Status.status_code",
    ),
    _patch(
        ":Span.update_name",
        lambda: hot.trace_spans_span.bind_update_name,
        "Takes a lock that the fast path's spans have only once other code asks for it.",
        "update_name",
        f"{_MODULE}:_check_span_ended",
    ),
    _patch(
        ":Span.get_span_context",
        lambda: hot.trace_spans_span.bind_get_span_context,
        "Reads a span context that the fast path's spans create on first use.",
        "get_span_context",
    ),
    _patch(
        ":Span.add_event",
        lambda: hot.trace_spans_events.bind_add_event,
        "Three containers and a lock for each event; here a dict and a list.",
        "add_event, 3 attributes",
        f"{_MODULE}:Event.__init__",
        f"{_MODULE}:EventBase.__init__",
    ),
    _patch(
        ":Span.record_exception",
        lambda: hot.trace_spans_events.bind_record_exception,
        "Formatting a stack trace takes 500 microseconds and more; here it is done when the text is read.",
        "record_exception, 5 frames",
        parts=(f"{_MODULE}:Span.add_event",),
    ),
    _patch(
        ":Span.add_link",
        lambda: hot.trace_spans_links.bind_add_link,
        "A container that cleans each attribute, and a lock that makes stock end the span; here one append.",
        "add_link, 3 attributes",
        *LINKS,
    ),
    _patch(
        ":Span.end",
        lambda: hot.trace_spans_ending.bind_end,
        "Copies the span for its processors; here batch processors queue the span itself, the others get a flat copy.",
        "start_span",
        f"{_MODULE}:Span._readable_span",
        f"{_MODULE}:ReadableSpan.__init__",
    ),
    _patch(
        ".export:BatchSpanProcessor.on_end",
        lambda: hot.trace_spans_ending.bind_on_end,
        "Reads the span context twice through three properties, and queues with five checks; here one function.",
        "a batch processor that filters",
        parts=("opentelemetry.sdk._shared_internal:BatchProcessor.emit",),
    ),
    _patch(
        ".export:SimpleSpanProcessor.on_end",
        lambda: hot.trace_exporting.bind_on_end,
        "Reads the span context twice, and copies and sets the context in ten calls of Python; here one function.",
        "SimpleSpanProcessor",
        "opentelemetry.context:attach",
        "opentelemetry.context:detach",
        "opentelemetry.context:set_value",
    ),
)
