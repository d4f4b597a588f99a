"""The hook that has a budget: a decorator that is used on every function of the service."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from opentelemetry import trace

Function = TypeVar("Function", bound=Callable[..., Any])
tracer = trace.get_tracer("shop")


def traced(function: Function) -> Function:
    """Give each call a span with its arguments."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        attributes = {f"shop.argument.{number}": str(value) for number, value in enumerate(args)}
        with tracer.start_as_current_span(function.__qualname__, attributes=attributes):
            return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]
