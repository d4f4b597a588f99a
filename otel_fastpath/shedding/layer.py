"""The layer over a hook: passes its calls on and counts them, and has one in a while timed.

`layer_c` is the same in C; it is used together with the compiled core.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from otel_fastpath import compiled
from otel_fastpath.patching.swapping.swap import SWITCH

if TYPE_CHECKING:
    from collections.abc import Callable


class _Counter:
    """What the layer in Python counts down."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


def lay(function: Any, timed: Callable[[Any, Any], Any], left: int) -> tuple[Any, Any]:
    """The layer over a function, and the object whose `left` it counts down.

    Args:
        function: The hook.
        timed: Called with the arguments as a tuple and a dict, in place of the hook, once `left` is 0; it sets `left`.
        left: How many calls are left until one is timed, that one included.
    """
    if compiled.is_compiled():
        try:
            made = importlib.import_module(f"{__package__}.layer_c").Layer(function, timed, left)
        except ImportError:
            pass  # an installation without a compiler may have lost it
        else:
            functools.update_wrapper(made, function)
            made.__dict__[SWITCH] = made
            return made, made
    return _in_python(function, timed, left)


def _in_python(function: Any, timed: Callable[[Any, Any], Any], left: int) -> tuple[Any, Any]:
    counter = _Counter(left)
    is_async = inspect.iscoroutinefunction(function)
    # Later ones know a function that returns a coroutine, which saves one of our own for each call.
    if is_async and sys.version_info < (3, 12):

        @functools.wraps(function)
        async def counted_async(*args: Any, **kwargs: Any) -> Any:
            counter.left -= 1
            return await (function(*args, **kwargs) if counter.left > 0 else timed(args, kwargs))

        return counted_async, counter

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        counter.left -= 1
        return function(*args, **kwargs) if counter.left > 0 else timed(args, kwargs)

    if is_async and sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(counted)
    return counted, counter
