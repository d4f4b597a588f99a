"""The ways of spans through the processors of a tracer provider: which of their methods are called, and which not.

A method that does nothing is not called, and what stock's batch processor does is done by `plan.enqueue`. This rests
on facts (see `compiled.facts`): if other code replaces such a method, the route is worked out anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import attributes as attributes_api
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, SynchronousMultiSpanProcessor, Tracer, _Span
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, StaticSampler, TraceIdRatioBased

from otel_fastpath.compiled.facts import ABSENT, is_true
from otel_fastpath.patching import stock
from otel_fastpath.patching.swapping.swap import seen_through
from otel_fastpath.trace.planning.read_values import READ_AT_END, READ_AT_START
from otel_fastpath.trace.stock_sources import KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    # An item of `Facts`.
    Fact = tuple[object, str, object]

# Where a processor keeps the routes of spans through it.
_ROUTES: Final = "_otel_fastpath_routes"
_ON_START, _ON_ENDING, _ON_END = _HOOKS = ("on_start", "_on_ending", "on_end")
_AT_THE_END: Final = (_ON_ENDING, _ON_END)
# The methods of stock's that do nothing.
_IDLE: Final[dict[type, frozenset[str]]] = {
    SpanProcessor: frozenset(_HOOKS),
    SimpleSpanProcessor: frozenset({_ON_START, _ON_ENDING}),
    BatchSpanProcessor: frozenset({_ON_START, _ON_ENDING}),
}
# What stock calls when it starts and ends a span, and this package does not.
_STARTING: Final = (
    *((_Span, "__init__"), (_Span, "start"), (_Span, "_new_links"), (_Span, "_new_events"), (ReadableSpan, "__init__")),
    *((BoundedAttributes, name) for name in ("__setitem__", "_set_items", "_setitem_locked")),
    *((attributes_api, name) for name in ("_clean_attribute", "_clean_attribute_value")),
    *((kind, "should_sample") for kind in (StaticSampler, ParentBased, TraceIdRatioBased)),
    (Tracer, "_is_enabled"),
)
_ENDING: Final = ((_Span, "_readable_span"), (ReadableSpan, "__init__"))


def is_stock(value: Any, kind: type, methods: tuple[str, ...]) -> bool:
    """Whether the object is exactly of this type and has these methods as stock wrote them.

    Methods that the installed release does not have do not count.
    """
    return type(value) is kind and all(
        name not in vars(value) and (not hasattr(kind, name) or stock.is_written(kind, name, KNOWN)) for name in methods
    )


def inherits(value: Any, kind: type, names: tuple[str, ...]) -> bool:
    """Whether the object's class has these attributes from this class of stock's, as it wrote them.

    A property or constant is taken as it is.
    """
    return (
        stock.inherits(type(value), kind, names)
        and all(_is_ordinary(value, name) for name in names)
        and all(stock.is_written(kind, name, KNOWN) for name in names if callable(getattr(kind, name)))
    )


def _kept(processor: Any, names: Sequence[str]) -> list[Fact]:
    """That these methods of a processor are those of its class, and that nobody replaces them."""
    kind = type(processor)
    return [fact for name in names for fact in ((kind, name, getattr(kind, name)), (processor, name, ABSENT))]


def _defined(owner: Any, name: str) -> Fact:
    """The method or function as stock defined it, which is not called as long as it is in place."""
    return owner, name, stock.as_defined(stock.definer(owner, name), name)


def _known(owner: Any, name: str) -> Fact:
    """The same; it never holds if the source of the method is not known."""
    fact = _defined(owner, name)
    return fact if stock.is_written(owner, name, KNOWN) else (owner, name, object())


def _is_ordinary(processor: Any, name: str) -> bool:
    """Whether the processor is an object whose method of this name is that of its class."""
    kind: Any = type(processor)
    fields = getattr(processor, "__dict__", None)
    return kind.__getattribute__ is object.__getattribute__ and fields is not None and name not in fields


def _is_idle(processor: Any, name: str) -> bool:
    """Whether this method of the processor is one of stock's that do nothing."""
    if not _is_ordinary(processor, name):
        return False
    definer = stock.definer(type(processor), name)
    return name in _IDLE.get(definer, ()) and stock.is_written(definer, name, KNOWN)


def _is_queueing(processor: Any) -> bool:
    """Whether the processor's `on_end` is our replacement for `BatchSpanProcessor.on_end`."""
    if not _is_ordinary(processor, _ON_END) or stock.definer(type(processor), _ON_END) is not BatchSpanProcessor:
        return False
    function = vars(BatchSpanProcessor)[_ON_END]
    return seen_through(function) is not function


def _is_for_servers(processor: Any) -> bool:
    """Whether this is our processor that handles server and consumer spans only. A subclass may handle more."""
    return "for_server_spans" in vars(type(processor)) and not vars(processor).keys() & set(_HOOKS)


class SpanCore(NamedTuple):
    """What a plan needs of one core.

    Attributes:
        plan: The class of plans.
        copy_for: The function `plan.copy_for`.
        facts: The class `facts.Facts`.
        store: The class `plans.PlanStore`.
        batch: The class `plan.ProcessorQueue`.
        batch_of: The function `ending.batch_of`.
        span_class: The class of recording spans.
        read_only_class: The class of their read-only copies.
        dropped_class: The class of spans that are not recorded.
        event_class: The class of events.
    """

    plan: Any
    copy_for: Any
    facts: Any
    store: Any
    batch: type
    batch_of: Any
    span_class: type
    read_only_class: type
    dropped_class: type
    event_class: type


class Route(NamedTuple):
    """The way of spans through the processors: some fields of `Plan`."""

    on_start: tuple[Any, ...]
    on_ending: tuple[Any, ...]
    on_end: tuple[Any, ...]
    only_batches: bool
    starting: Any
    ending: Any


class Router:
    """Works out the routes of one core.

    Args:
        core: The core.

    Attributes:
        starting: That stock's code which starts a span, and is not called, is as stock wrote it.
        ending: The same for the code that ends a span.
        routes: The routes through processors.
    """

    def __init__(self, core: SpanCore) -> None:
        self._core = core
        self.routes = core.store(_ROUTES)
        # Some are not in each release.
        defined = (_defined(*place) for place in _STARTING if hasattr(*place))
        # An application may put a subclass in the place of the class of spans.
        self.starting = core.facts([*defined, (sdk_trace, "_Span", _Span), *READ_AT_START])
        self.ending = core.facts([*(_known(*place) for place in _ENDING), *READ_AT_END])

    def routes_of(self, root: Any) -> tuple[Route, ...]:
        """The way of most spans through the processors; if there is another for server and consumer spans, that, too.

        They are kept: some applications get a new tracer for each request.
        """
        kept = self.routes.kept(root)
        if kept is not None and all(is_true(each.starting) and is_true(each.ending) for each in kept.values):
            return kept.values  # type: ignore[no-any-return]  # as they were kept
        passes_on = is_stock(root, SynchronousMultiSpanProcessor, _HOOKS)
        # Any other passes the spans on in its own way.
        processors = root._span_processors if passes_on else (root,)
        facts = [(root, "_span_processors", processors), *_kept(root, _HOOKS)] if passes_on else []
        others = tuple(each for each in processors if not _is_for_servers(each))
        routes = [self._route(others, facts)]
        if others != processors:
            # These processors do nothing for all other spans.
            routes.append(self._route(processors, facts))
        return self.routes.keep_values(root, *routes).values  # type: ignore[no-any-return]  # likewise

    def _route(self, processors: Any, facts: Sequence[Fact]) -> Route:
        """Which methods of the processors are called, and which are not because they do nothing.

        Args:
            processors: The processors.
            facts: What the route rests on besides them.
        """
        facts = list(facts)
        called: dict[str, list[Any]] = {name: [] for name in _HOOKS}
        for processor in processors:
            batch = self._core.batch_of(processor) if _is_queueing(processor) else None
            idle = [name for name in _HOOKS if _is_idle(processor, name)]
            for name in _HOOKS:
                if name not in idle:
                    called[name].append(batch if batch is not None and name == _ON_END else processor)
            facts += _kept(processor, idle if batch is None else [*idle, _ON_END])
        return Route(
            on_start=tuple(called[_ON_START]),
            on_ending=tuple(called[_ON_ENDING]),
            on_end=tuple(called[_ON_END]),
            only_batches=all(isinstance(each, self._core.batch) for each in called[_ON_END]),
            starting=self._core.facts([*self.starting.items, *(each for each in facts if each[1] not in _AT_THE_END)]),
            ending=self._core.facts([*self.ending.items, *(each for each in facts if each[1] != _ON_START)]),
        )
