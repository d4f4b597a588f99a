"""The option `repeats`: how often the queries of a request repeat themselves, as attributes of its server span.

Queries are counted by their summaries, for the nearest server or consumer span above them in this process, or else for
the local root span. A span knows only the ids of its parent, so a span processor hands that span's counts down to each
span that starts below it. The counts are attributes of spans: they live as long as these.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any, Final

from opentelemetry.trace import SpanKind, get_current_span

from otel_fastpath.locks import Lock
from otel_fastpath.patching import faults

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


class Repeats:
    """The queries below one span, by their summaries.

    Args:
        span: The span; it has this object as an attribute, so there is only a weak reference to it.
    """

    __slots__ = ("_counts", "_span", "_top")

    def __init__(self, span: Any) -> None:
        self._span = weakref.ref(span)
        self._counts: dict[str, int] = {}
        # The highest number, and the summary that it belongs to.
        self._top = (0, "")

    def add(self, summary: str, least: int) -> None:
        """Count a query; set the attributes if it is the most frequent one.

        Args:
            summary: Its summary.
            least: The number of queries from which on there are attributes.
        """
        counts = self._counts
        with _lock:
            if summary not in counts and len(counts) >= _MOST_SUMMARIES:
                return
            number = counts[summary] = counts.get(summary, 0) + 1
            if number < least or number <= self._top[0]:
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


def count(span: Any, summary: str, least: int) -> None:
    """Count a query for the span that it belongs to.

    Args:
        span: The query's own span.
        summary: Its summary.
        least: The number of queries from which on there are attributes.
    """
    found = getattr(span, _KEY, None)
    if found is not None:
        found.add(summary, least)


def attach(user: object, provider: Any) -> bool:
    """Count the queries below the spans of this tracer provider, until the last user has called `release`.

    Args:
        user: The user.
        provider: The tracer provider.

    Returns:
        Whether that is settled; otherwise, there is no provider of the SDK yet.
    """
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


def release(user: object) -> None:
    """This user counts no more queries; the last one removes the processor."""
    with _lock:
        _users.discard(user)
        if _users:
            return
        found = tuple(_providers)
        _providers.clear()
    for provider in found:
        several = provider._active_span_processor
        with several._lock:
            several._span_processors = tuple(each for each in several._span_processors if each is not _processor())


def _start(span: Any, parent: Any) -> None:
    """Give a span that starts the counts that it belongs to."""
    kind = span.kind
    found = None
    if kind is not _SERVER and kind is not _CONSUMER:
        found = getattr(parent, _KEY, None)
        if found is None and parent.is_recording():
            # It started before the processor was there.
            found = vars(parent).setdefault(_KEY, Repeats(parent))
    setattr(span, _KEY, Repeats(span) if found is None else found)


@functools.cache
def _processor() -> Any:
    """The span processor; its only method that does anything is `on_start`."""
    from opentelemetry.sdk.trace import SpanProcessor  # noqa: PLC0415  # there is a provider of the SDK

    class RepeatsProcessor(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            try:
                _start(span, get_current_span(parent_context))
            except Exception as fault:
                faults.report(_PLACE, fault)

    return RepeatsProcessor()
