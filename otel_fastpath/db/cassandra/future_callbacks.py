"""Callbacks of a future run in the driver's thread, in the context in which they were added.

So do the requests that `execute_concurrent` submits once others are done: all of them are in one trace.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.db.cassandra.query_plans import DATABASE
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.wrapping.in_context import arguments_in_context

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE: Final = "a callback of cassandra"


def make_add(original: Any) -> Any:
    """Wrap a method that adds a callback."""
    current = hot.trace_context_current_context.current

    @functools.wraps(original)
    def add(*args: Any, **kwargs: Any) -> Any:
        return original(*call_guarded(_PLACE, carrying, current, args, kwargs) or args, **kwargs)

    return add


def carrying(current: Callable[[], Any], args: Any, kwargs: Any) -> Any:
    """The arguments, with the callback to be called in the current context; None if there is nothing in it."""
    context = current()
    if not context or DATABASE.active is None:
        return None
    return arguments_in_context(context, "fn", args, kwargs)
