"""Functions that run in another context than that of their caller: in a thread, a greenlet or a callback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from otel_fastpath.compiled import hot

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context.context import Context

_Result = TypeVar("_Result")


def in_context(function: Callable[..., _Result], context: Context) -> Callable[..., _Result]:
    """The function, to be called in this OpenTelemetry context."""
    return _InContext(function, context)


def arguments_in_context(context: Context, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The positional arguments of a method whose first argument is a function, to be called in this context.

    Args:
        context: The OpenTelemetry context.
        name: The name of the argument.
        args: The positional arguments, `self` among them.
        kwargs: The others; the function is replaced if it is one of them.
    """
    if len(args) > 1:
        if callable(args[1]):
            return args[0], _InContext(args[1], context), *args[2:]
    elif callable(kwargs.get(name)):
        kwargs[name] = _InContext(kwargs[name], context)
    return args


class _InContext(Generic[_Result]):
    """It looks like the function: gevent prints what failed, and a context may hold what must not be printed."""

    def __init__(self, function: Callable[..., _Result], context: Context) -> None:
        self._function = function
        self._context = context

    def __call__(self, /, *args: Any, **kwargs: Any) -> _Result:
        current_context = hot.trace_context_current_context
        token = current_context.attach_context(self._context)
        try:
            return self._function(*args, **kwargs)
        finally:
            if token is not None:
                current_context.restore(token)

    def __repr__(self) -> str:
        return repr(self._function)
