"""Functions that run in another context than that of their caller: in a thread, a greenlet or a callback."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from otel_fastpath import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context.context import Context

_Result = TypeVar("_Result")


def in_context(function: Callable[..., _Result], context: Context) -> functools.partial[_Result]:
    """The function, to be called in this context.

    Args:
        function: Any callable.
        context: The OpenTelemetry context.
    """
    return functools.partial(_called, function, context)


def _called(function: Callable[..., _Result], context: Context, /, *args: Any, **kwargs: Any) -> _Result:
    hot = compiled.hot("trace.context.current_context")
    token = hot.attach_context(context)
    try:
        return function(*args, **kwargs)
    finally:
        if token is not None:
            hot.restore(token)
