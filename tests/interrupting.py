"""Raises what a signal handler would, once at the beginning of each function of this package that an operation enters.

There, and after each call of a C function, CPython handles signals.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

from opentelemetry import context
from opentelemetry.sdk.trace import SpanProcessor

_TOOLS = range(5, -1, -1)


class Limit(Exception):  # noqa: N818  # as the host's own
    """A time limit."""


class _Started(SpanProcessor):
    def __init__(self):
        self.spans = []

    def on_start(self, span, parent_context=None):  # noqa: ARG002  # the SDK passes it
        self.spans.append(span)


class _Arrival:
    """Takes down the places, or raises when one of them is reached."""

    def __init__(self, place):
        self.place, self.seen = place, {}
        self.is_in_finalizer = False

    def _reach(self, place):
        self.seen[place] = None
        if place == self.place:
            self.place = None
            raise Limit

    def _enter(self, code, offset):
        if "/otel_fastpath/" in code.co_filename:
            self._reach((code, offset, ""))

    def _returned(self, code, offset, function, _argument):
        if "/otel_fastpath/" in code.co_filename:
            self._reach((code, offset, getattr(function, "__name__", "")))

    def _note(self, unraisable):
        # What a finalizer raises reaches nobody, and the operation goes on: that of a connection that a pool has lost.
        self.is_in_finalizer = isinstance(unraisable.exc_value, Limit)
        if not self.is_in_finalizer:
            self._hook(unraisable)

    def __enter__(self):
        self._hook, sys.unraisablehook = sys.unraisablehook, self._note
        monitoring, events = sys.monitoring, sys.monitoring.events
        self._tool = next(each for each in _TOOLS if monitoring.get_tool(each) is None)
        monitoring.use_tool_id(self._tool, "interrupting")
        monitoring.register_callback(self._tool, events.PY_START, self._enter)
        monitoring.register_callback(self._tool, events.C_RETURN, self._returned)
        monitoring.set_events(self._tool, events.PY_START | events.CALL)
        return self

    def __exit__(self, *_error):
        sys.monitoring.set_events(self._tool, 0)
        sys.monitoring.free_tool_id(self._tool)
        sys.unraisablehook = self._hook


def interrupt(provider, run, *, expected=()):
    """Run an operation again and again, interrupted at another place each time.

    Args:
        provider: The tracer provider; whether its spans have ended is looked at.
        run: The operation.
        expected: What it raises itself.

    Returns:
        The places at which the limit did not reach the caller, a span stayed open, or the context was another.
    """
    started = _Started()
    provider.add_span_processor(started)
    with suppress(*expected):
        run()
    with _Arrival(None) as arrival, suppress(*expected):
        run()
    before, wrong = context.get_current(), []
    assert arrival.seen
    for place in arrival.seen:
        started.spans.clear()
        found = "swallowed"
        with _Arrival(place) as arriving:
            try:
                run()
            except Limit:
                found = ""
            except expected:
                pass
        if arriving.place is not None or arriving.is_in_finalizer:
            # It is reached only now and then, or it was reached where nobody can get an exception.
            continue
        if any(span.is_recording() for span in started.spans):
            # What stock ends with a generator, which an exception may keep.
            gc.collect()
        if any(span.is_recording() for span in started.spans):
            found += " open"
        if context.get_current() != before:
            found += " current"
            context.attach(before)
        if found:
            code, offset, name = place
            wrong.append(f"{found} at {code.co_qualname} of {code.co_filename}:{code.co_firstlineno}+{offset} {name}")
    return wrong
