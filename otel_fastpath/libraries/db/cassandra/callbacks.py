"""Callbacks of a future run in the driver's thread, in the context in which they were added.

So do the requests that `execute_concurrent` submits once others are done: all of them are in one trace.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from otel_fastpath import compiled
from otel_fastpath.libraries.db.cassandra.plans import DATABASE
from otel_fastpath.libraries.in_context import in_context
from otel_fastpath.patching.outcome import guarded

_PLACE: Final = "a callback of cassandra"


def make_add(original: Any) -> Any:
    """Wrap a method that adds a callback."""

    @functools.wraps(original)
    def add(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, guarded(_PLACE, carried, fn) or fn, *args, **kwargs)

    return add


def carried(function: Any) -> Any:
    """The function, to be called in the current context; None if there is nothing in it."""
    context = compiled.hot("trace.context.current_context").current()
    is_needed = DATABASE.active is not None and context and callable(function)
    return in_context(function, context) if is_needed else None
