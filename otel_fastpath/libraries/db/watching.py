"""The options `slow` and `repeats`: looks at each query that is recorded. docs/slow-queries.md describes them."""

from __future__ import annotations

from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace

from otel_fastpath.libraries.db import repeats
from otel_fastpath.libraries.db.parameters import attributes_of

if TYPE_CHECKING:
    from otel_fastpath.libraries.db.options import Options

# The attribute of a slow query.
SLOW: Final = "otel_fastpath.db.slow"


class Watcher:
    """What a set-up of a database's wrapper does with its queries because of these options.

    Args:
        options: The options.
        tracer_provider: The provider of the wrapper's tracer; None: the global one.
    """

    def __init__(self, options: Options, tracer_provider: Any) -> None:
        self._slow = options.slow
        self._repeats = options.repeats
        self._provider = tracer_provider
        # Whether spans inherit what counts the repetitions.
        self._is_attached = self._repeats is None
        self.attach()

    def attach(self) -> None:
        """Count the repetitions of queries; called again, because the global provider may be set later."""
        if not self._is_attached:
            self._is_attached = repeats.attach(self, self._provider or trace.get_tracer_provider())

    def begun(self, call: Any, start_ns: int | None) -> None:
        """A query has begun.

        Args:
            call: The `Query`.
            start_ns: When it began, in nanoseconds since the epoch; None: now.
        """
        if not call.recording:
            return
        if self._slow is not None:
            call.timed = Timed(self._slow, start_ns)
        if self._repeats is not None and call.plan.summary:
            self.attach()
            repeats.count(call.span, call.plan.summary, self._repeats)

    def stop(self) -> None:
        """The set-up is no longer in use."""
        repeats.release(self)

class Timed:
    """A query that may be slow.

    Args:
        least: The duration, in seconds, from which on it is.
        start_ns: When it began, in nanoseconds since the epoch; None: now.

    Attributes:
        parameters: Its parameters, which are only read if it was slow; None: they are not recorded.
    """

    __slots__ = ("_least", "_started", "parameters")

    def __init__(self, least: float, start_ns: int | None) -> None:
        self._least = least
        self._started = perf_counter()
        if start_ns is not None:
            self._started -= max(time_ns() - start_ns, 0) / 1e9
        self.parameters: Any = None

    def ended(self, span: Any) -> None:
        """The query has ended, and its span has not."""
        if perf_counter() - self._started >= self._least:
            span.set_attributes({SLOW: True, **attributes_of(self.parameters)})
