"""Wrappers of what spawns greenlets."""

from __future__ import annotations

import contextvars
import functools
from typing import TYPE_CHECKING, Any, Final, TypeVar

from opentelemetry import context as _context_api

from otel_fastpath.patching.outcome import call_guarded, never_raises
from otel_fastpath.wrapping.in_context import arguments_in_context, in_context

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")
_PLACE: Final = "the context of a greenlet"


def with_context(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """The function, to be called in the OpenTelemetry context that is current now.

    For a greenlet, a thread or a callback that would have another one: `gevent.spawn(with_context(work), 1)`.

    Args:
        function: Any callable.

    Returns:
        A function with the same signature and result.
    """
    carried = in_context(function, _context_api.get_current())
    return functools.update_wrapper(carried, function, updated=())


def make_spawn(original: Any) -> Any:
    """Wrap what returns a greenlet that has not run yet."""

    @functools.wraps(original)
    def spawn(*args: Any, **kwargs: Any) -> Any:
        greenlet = original(*args, **kwargs)
        _carry(greenlet)
        return greenlet

    return spawn


@never_raises(_PLACE)
def _carry(greenlet: Any) -> None:
    """Give a greenlet that has not run yet the current context; nothing but that."""
    context = _context_api.get_current()
    # A pool of threads returns other objects.
    is_greenlet = hasattr(greenlet, "run") and hasattr(greenlet, "gr_context")
    if not context or not is_greenlet or greenlet.dead or greenlet.gr_context is not None:
        return
    held = contextvars.Context()
    held.run(_context_api.attach, context)
    greenlet.gr_context = held


def make_map(original: Any) -> Any:
    """Wrap a method that calls a function in greenlets which another greenlet spawns."""

    @functools.wraps(original)
    def over(*args: Any, **kwargs: Any) -> Any:
        return original(*call_guarded(_PLACE, bind_arguments, args, kwargs) or args, **kwargs)

    return over


def bind_arguments(args: Any, kwargs: Any) -> Any:
    """The arguments with the function bound to the current context; None if there is no context to bind it to."""
    context = _context_api.get_current()
    return arguments_in_context(context, "func", args, kwargs) if context else None
