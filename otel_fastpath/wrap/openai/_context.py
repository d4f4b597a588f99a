"""The current context, read and replaced as cheaply as its owner allows."""

from __future__ import annotations

from typing import Any

from opentelemetry import context as context_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.trace.propagation import _SPAN_KEY

# The variable itself where the runtime context is upstream's own: a chain of calls fewer for every chunk.
_globals = vars(context_api)
_is_plain = type(context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = getattr(context_api._RUNTIME_CONTEXT, "_current_context", None)


def current() -> Any:
    """The current context."""
    return _variable.get() if _globals["_RUNTIME_CONTEXT"] is _runtime else context_api.get_current()


def switches() -> tuple[Any, Any]:
    """`attach` and `detach` for one place that does both over and over, in one context."""
    if _globals["_RUNTIME_CONTEXT"] is _runtime:
        return _variable.set, _variable.reset
    return context_api.attach, context_api.detach


def with_span(context: Any, span: Any) -> Any:
    """That context with this span as the current one."""
    return Context({**context, _SPAN_KEY: span} if context else {_SPAN_KEY: span})


def attach(context: Any) -> Any:
    """Make it the current one; gives what `detach` takes."""
    return _variable.set(context) if _globals["_RUNTIME_CONTEXT"] is _runtime else context_api.attach(context)


def detach(token: Any) -> None:
    """Put back what was current before.

    A read that was given up is closed by whoever collects it, in a context of its own, where there is nothing to put
    back: no reason to say so.
    """
    try:
        if _globals["_RUNTIME_CONTEXT"] is _runtime:
            _variable.reset(token)
        else:
            context_api._RUNTIME_CONTEXT.detach(token)
    except ValueError:
        pass
