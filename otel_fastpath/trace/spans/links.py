"""The links of a span. Plain Python; compiled as `links_c` with the types of its `.pxd`.

Stock: 48,000 instructions for a link with three attributes (CPython 3.13, SDK 1.45.2), most of them for a container
that cleans each. Attributes of which one must be cleaned or dropped are left to that container, and what is no link of
stock's own to its method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import attributes as _attributes_api
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace import Span as _StockSpan
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import Link
from opentelemetry.trace.span import SpanContext

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import item, plain_copy
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined, definer
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.spans.bounding import bounded_attributes
from otel_fastpath.trace.spans.recorded import SpanState

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.sdk.trace import Span, SpanLimits
    from opentelemetry.util import types

# What stock calls to keep a link, and is not called here; not each release has all.
_KEEPING = (
    *((_StockSpan, name) for name in ("_new_links", "_add_link")),
    *((Link, name) for name in ("context", "attributes")),
    *((BoundedList, name) for name in ("__init__", "extend", "append")),
    *((BoundedAttributes, name) for name in ("__init__", "__setitem__", "_set_items", "_setitem_locked")),
    *((_attributes_api, name) for name in ("_clean_attribute", "_clean_attribute_value")),
    (_sdk_trace, "_is_valid_link"),
)
_facts = Facts([(each, name, as_defined(definer(each, name), name)) for each, name in _KEEPING if hasattr(each, name)])


def keep_links(span: SpanState, links: Any) -> None:
    """Keep the links that a span is started with, without stock's container if there is room for all."""
    limits = span.plan.limits
    made = _made_links(limits, span.plan.max_event_value, links)
    most = limits.max_links
    if made is None:
        span.bounded_links = span._new_links(links)  # type: ignore[attr-defined]  # of the class that `span_classes` makes
    elif most is None or len(made) <= most:
        span.link_store = tuple(made)
    else:
        span.bounded_links = BoundedList.from_seq(most, made)


def _made_links(limits: SpanLimits, longest: int, links: Any) -> list[Link] | None:
    """The valid links, with containers of their attributes; None if stock must look at them."""
    if (type(links) is not list and type(links) is not tuple) or not _facts.hold():
        return None
    for link in links:
        if type(link) is not Link or type(link._context) is not SpanContext:
            return None
    made = []
    for link in links:
        context, attributes = link._context, link._attributes
        if _is_valid(context, attributes):
            link._attributes = _bounded(limits, longest, attributes)
            made.append(link)
    return made


def _is_valid(context: SpanContext, attributes: types.Attributes) -> bool:
    return bool(item(context, 5) or attributes or item(context, 4))


def _bounded(limits: SpanLimits, longest: int, attributes: Any) -> BoundedAttributes:
    """The attributes in stock's container, which cannot be changed."""
    kept: dict[str, object] | None = None
    if attributes is None:
        kept = {}
    elif type(attributes) is dict:
        kept = plain_copy(attributes, longest)
    most = limits.max_link_attributes
    if kept is None or (most is not None and len(kept) > most):
        return BoundedAttributes(most, attributes, immutable=True, max_value_len=limits.max_attribute_length)
    return bounded_attributes(kept, most, limits.max_attribute_length, True)  # noqa: FBT003  # positional for C


def bind_add_link(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.add_link`."""
    switch = Switch()

    def add_link(self: Span, context: SpanContext, attributes: types.Attributes = None) -> None:
        try:
            if isinstance(self, SpanState) and not switch.inert and _try_add(self, context, attributes):
                return
        except Exception as error:
            faults.absorb("Span.add_link", error)
        original(self, context, attributes)

    return make_switchable(original, add_link, switch)


def _try_add(span: SpanState, context: SpanContext, attributes: types.Attributes) -> bool:
    """Add a link; False if stock's method must do it."""
    if type(context) is not SpanContext or not _facts.hold() or not _is_valid(context, attributes):
        return False
    links = span._links  # type: ignore[attr-defined]  # likewise
    kept = getattr(links, "_dq", None)
    if type(links) is not BoundedList or kept is None or not _has_room(span, kept):
        return False
    link = Link(context, _bounded(span._limits, span.plan.max_event_value, attributes))  # type: ignore[attr-defined]  # likewise
    return _append(span, kept, link)


@critical_section
def _has_room(span: SpanState, kept: deque[Link]) -> bool:
    return span._end_time is None and len(kept) != kept.maxlen


@critical_section
def _append(span: SpanState, kept: deque[Link], link: Link) -> bool:
    """Add a link to those of its list; False if stock's method must do it."""
    if span._end_time is not None or len(kept) == kept.maxlen:
        return False
    kept.append(link)
    return True
