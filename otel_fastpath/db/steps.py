"""Wrappers of methods that connect, or that borrow a connection of a pool: in three steps, none of which raises."""

from __future__ import annotations

import functools
import inspect
from typing import Any


def around_steps(on_begin: Any, on_done: Any, on_failed: Any, original: Any) -> Any:
    """Wrap a method, `async def` or not, in three functions, which raise only what interrupts them.

    Args:
        on_begin: Called with an empty list, the method's arguments and its keyword arguments. It adds what has to be
            ended to the list before it begins it.
        on_done: Called with the list, the method's arguments, and its result.
        on_failed: Called with the list, the method's arguments, and what was raised; also where one of the others was
            interrupted, and a second time if it was interrupted itself.
        original: The method.
    """
    wrap = _around_async if inspect.iscoroutinefunction(original) else _around
    return wrap(on_begin, on_done, on_failed, original)


def _around_async(on_begin: Any, on_done: Any, on_failed: Any, original: Any) -> Any:
    """The same for a method whose result is awaited."""

    @functools.wraps(original)
    async def method(*args: Any, **kwargs: Any) -> Any:
        begun: list[Any] = []
        try:
            on_begin(begun, args, kwargs)
            result = await original(*args, **kwargs)
            on_done(begun, args, result)
        except BaseException as error:
            try:
                on_failed(begun, args, error)
            except BaseException:
                # Interrupted, may be at its beginning.
                on_failed(begun, args, error)
                raise
            raise
        return result

    return method


def _around(on_begin: Any, on_done: Any, on_failed: Any, original: Any) -> Any:
    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        begun: list[Any] = []
        try:
            on_begin(begun, args, kwargs)
            result = original(*args, **kwargs)
            on_done(begun, args, result)
        except BaseException as error:
            try:
                on_failed(begun, args, error)
            except BaseException:
                # Interrupted, may be at its beginning.
                on_failed(begun, args, error)
                raise
            raise
        return result

    return method
