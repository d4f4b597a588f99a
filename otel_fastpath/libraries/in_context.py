"""Functions that run in another context than that of their caller: in a thread, a greenlet or a callback."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

from otel_fastpath import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context.context import Context

_Result = TypeVar("_Result")


def in_context(function: Callable[..., _Result], context: Context) -> Callable[..., _Result]:
    """The function, to be called in this context.

    Args:
        function: Any callable.
        context: The OpenTelemetry context.
    """

    @functools.wraps(function, updated=())
    def called(*args: Any, **kwargs: Any) -> _Result:
        hot = compiled.hot("trace.current_context")
        token = hot.attach_context(context)
        try:
            return function(*args, **kwargs)
        finally:
            if token is not None:
                hot.restore(token)

    return called
