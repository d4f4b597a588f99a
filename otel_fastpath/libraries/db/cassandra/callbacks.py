"""Callbacks of a future run in the driver's thread, in the context in which they were added.

So do the requests that `execute_concurrent` submits once others are done: all of them are in one trace.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from otel_fastpath import compiled
from otel_fastpath.libraries.db.cassandra.plans import DATABASE
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
    hot = compiled.hot("trace.current_context")
    context = hot.current()
    if DATABASE.active is None or not context or not callable(function):
        return None

    @functools.wraps(function, updated=())
    def callback(*args: Any, **kwargs: Any) -> Any:
        token = hot.attach_context(context)
        try:
            return function(*args, **kwargs)
        finally:
            if token is not None:
                hot.restore(token)

    return callback
