"""The option `repeats`: how often the queries of a request repeat themselves, as attributes of its server span.

Queries are counted by their summaries, for the nearest server or consumer span above them in this process, or else for
the local root span. A span knows only the ids of its parent, so a span processor hands that span's counts down to each
span that starts below it. The counts are attributes of spans: they live as long as these.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanKind, get_current_span

from otel_fastpath.locks import Lock
from otel_fastpath.patching.outcome import call_guarded

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT: Final = "otel_fastpath.db.repeated.count"
SUMMARY: Final = "otel_fastpath.db.repeated.summary"
_KEY: Final = "_otel_fastpath_repeats"
_PLACE: Final = "counting the repetitions of queries"
_SERVER: Final = SpanKind.SERVER
_CONSUMER: Final = SpanKind.CONSUMER
# Further summaries of a request are not counted.
_MOST_SUMMARIES: Final = 200

_lock: Final = Lock()
# Those that use the processor, and the providers that have it.
_users: Final[weakref.WeakSet[Any]] = weakref.WeakSet()
_providers: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


class RepeatedQueries:
    """The queries below one span, by their summaries.

    Args:
        span: The span; it has this object as an attribute, so there is only a weak reference to it.
    """

    __slots__ = ("_counts", "_span", "_top")

    def __init__(self, span: Any) -> None:
        self._span = weakref.ref(span)
        self._counts: dict[str, Iterator[int]] = {}
        # The highest number, and the summary that it belongs to.
        self._top = (0, "")

    def add(self, summary: str, least: int) -> None:
        """Count a query; set the attributes if it is the most frequent one."""
        counter = self._counts.get(summary)
        if counter is None:
            if len(self._counts) >= _MOST_SUMMARIES:
                return
            counter = self._counts.setdefault(summary, itertools.count(1))
        # One step, so that no two threads get the same number.
        number = next(counter)
        if number < least:
            return
        with _lock:
            if number <= self._top[0]:
                return
            top = self._top = number, summary
        # Without the lock: a span can have other people's methods.
        span = self._span()
        while span is not None and span.is_recording():
            span.set_attributes({COUNT: top[0], SUMMARY: top[1]})
            if self._top is top:
                return
            # Another thread has counted one more, and may have set its attributes before.
            top = self._top


class User:
    """A set-up of a database's wrapper that counts its queries.

    Args:
        least: The number of queries from which on there are attributes.
        tracer_provider: The provider of its tracer; None: the global one.
    """

    __slots__ = ("__weakref__", "_is_attached", "_least", "_provider")

    def __init__(self, least: int, tracer_provider: Any) -> None:
        self._least = least
        self._provider = tracer_provider
        self._is_attached = False
        self.attach()

    def count(self, span: Any, summary: str) -> None:
        """Count a query for the span that it belongs to."""
        found = getattr(span, _KEY, None)
        if found is not None:
            found.add(summary, self._least)
        else:
            self.attach()

    def attach(self) -> None:
        """Add the processor to the tracer provider; called again, because the global one may be set later."""
        if not self._is_attached:
            self._is_attached = _attach(self, self._provider or trace.get_tracer_provider())

    def release(self) -> None:
        """Count no more queries; the last user removes the processor."""
        with _lock:
            _users.discard(self)
            if _users:
                return
            found = tuple(_providers)
            _providers.clear()
        for provider in found:
            several = provider._active_span_processor
            with several._lock:
                several._span_processors = tuple(each for each in several._span_processors if each is not _processor())


def _attach(user: User, provider: Any) -> bool:
    """Add the processor to a tracer provider; False if it is none of the SDK's yet."""
    add = getattr(provider, "add_span_processor", None)
    if add is None:
        return False
    # A provider with this processor calls `on_start` in another thread, where the parent is not the current span.
    if type(getattr(provider, "_active_span_processor", None)).__name__ == "ConcurrentMultiSpanProcessor":
        return True
    with _lock:
        _users.add(user)
        is_new = provider not in _providers
        _providers.add(provider)
    if is_new:
        add(_processor())
    return True


def _start(span: Any, context: Any) -> None:
    """Give a span that starts in this context the counts that it belongs to."""
    kind = span.kind
    found = None
    if kind is not _SERVER and kind is not _CONSUMER:
        parent: Any = get_current_span(context)
        found = getattr(parent, _KEY, None)
        if found is None and parent.is_recording():
            # It started before the processor was there.
            found = vars(parent).setdefault(_KEY, RepeatedQueries(parent))
    setattr(span, _KEY, RepeatedQueries(span) if found is None else found)


@functools.cache
def _processor() -> Any:
    """The span processor; its only method that does anything is `on_start`."""
    from opentelemetry.sdk.trace import SpanProcessor  # noqa: PLC0415  # there is a provider of the SDK

    class RepeatsProcessor(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            call_guarded(_PLACE, _start, span, parent_context)

    return RepeatsProcessor()
