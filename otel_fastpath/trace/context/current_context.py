"""The current context and the span in it, without calling the API. Compiled as `current_context_c`.

The context variable of stock's own runtime context is read and set directly: `opentelemetry.context` takes three
Python calls for that. With any other runtime context, the API is called.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from opentelemetry import context as _context_api
from opentelemetry import trace as _trace_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.trace import propagation as _propagation
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.compiled.facts import ABSENT, Facts
from otel_fastpath.compiled.helpers import (
    current_value,
    get_value,
    reset_value,
    set_item,
    set_value,
    set_with_value,
    with_value,
)
from otel_fastpath.patching import faults
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.trace.stock_sources import RUNTIME, sources

if TYPE_CHECKING:
    from contextvars import ContextVar, Token

    from opentelemetry.trace import Span

    # The context variable's token; with another runtime context, the API's token in a tuple.
    _Token = Token[Context] | tuple[Token[Context]]


_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else SimpleNamespace()
_variable: ContextVar[Context] = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None  # type: ignore[assignment, attr-defined]  # not used unless `_is_plain`
_RESTORING = "restoring the context"


def _as_known(owner: Any, name: str) -> object:
    """A function of stock's that is not called; one that nothing is identical to if its source is not known."""
    place = f"{owner.__name__}:{name}"
    if owner is ContextVarsRuntimeContext:
        place = f"{RUNTIME}.{name}"
    return as_defined(owner, name) if are_known(sources(place)) else object()


def _method(name: str) -> tuple[tuple[object, str, object], ...]:
    """The facts about a method of the runtime context: nobody replaced it in its class, nor in the one instance."""
    return (ContextVarsRuntimeContext, name, _as_known(ContextVarsRuntimeContext, name)), (_runtime, name, ABSENT)


# What is skipped: other code may replace it.
_READING = (
    (_context_api, "_RUNTIME_CONTEXT", _runtime),
    (_context_api, "get_current", _as_known(_context_api, "get_current")),
    (ContextVarsRuntimeContext, "get_current", _as_known(ContextVarsRuntimeContext, "get_current")),
)
_ATTACHING = (
    *_READING,
    *_method("attach"),
    *((_context_api, name, _as_known(_context_api, name)) for name in ("attach", "set_value")),
)
_DETACHING = (*_method("detach"), (_context_api, "detach", _as_known(_context_api, "detach")))
_reading = Facts(_READING)
# While these hold, the API's value of a key is that in the context that `_variable` has.
READING_VALUE = [*_READING, (_context_api, "get_value", _as_known(_context_api, "get_value"))]
# While these hold, the current span is `current_value(_variable, _SPAN_KEY)`.
READING_SPAN = [
    *_READING,
    (_trace_api, "get_current_span", _as_known(_propagation, "get_current_span")),
    (_propagation, "get_value", _as_known(_context_api, "get_value")),
]
# What the API's own functions rest on, each for itself.
GETTING_CURRENT = [*_READING, (_runtime, "get_current", ABSENT)]
ATTACHING_CONTEXT = [_READING[0], *_method("attach")]
DETACHING_CONTEXT = [_READING[0], *_method("detach")]
_reading_span = Facts(READING_SPAN)
_attaching = Facts(_ATTACHING)
_setting = Facts([*_ATTACHING, *_DETACHING])
_detaching = Facts(_DETACHING)


def current() -> Context:
    """The current context, as `opentelemetry.context.get_current` returns it."""
    return get_value(_variable) if _reading.hold() else _context_api.get_current()


def span_in(context: Context | None) -> object:
    """The span in a context (None: the current one), as `opentelemetry.trace.get_current_span` returns it.

    None if there is no span in the context.
    """
    if _reading_span.hold():
        if context is None:
            return current_value(_variable, _SPAN_KEY)
        if type(context) is Context:
            return context.get(_SPAN_KEY)
    return _trace_api.get_current_span(context)


def with_span(context: Context | None, span: object) -> Context:
    """The context (None: an empty one) with this span as the current one."""
    return with_value(Context, context, _SPAN_KEY, span)


def attach(span: Span) -> _Token:
    """Make a span the current one; returns the token for `detach`, in a tuple if it is not a token of `_variable`.

    If it raises, the caller uses `attach_as_stock`.
    """
    if _attaching.hold():
        return set_with_value(_variable, Context, _SPAN_KEY, span)
    return attach_as_stock(span)


def attach_as_stock(span: Span) -> _Token:
    """Make a span the current one through the API."""
    return (_context_api.attach(_context_api.set_value(_SPAN_KEY, span)),)


def attach_value(key: str, value: object) -> _Token | None:
    """Attach the current context with another value; None if the API must do it, and detach it."""
    return set_with_value(_variable, Context, key, value) if _setting.hold() else None


def attach_flags(keys: tuple[str, ...]) -> _Token | None:
    """Attach the current context with True for each of the keys; None if the API must do it, and detach it."""
    context = get_value(_variable) if _setting.hold() else None
    if type(context) is not Context:
        return None
    made = with_value(Context, context, keys[0], True)  # noqa: FBT003  # its value
    for key in keys[1:]:
        # Nobody else has this context yet.
        set_item(made, key, True)  # noqa: FBT003  # likewise
    return set_value(_variable, made)


def attach_context(context: Context) -> _Token | None:
    """Make a context the current one; returns the token for `restore`, or None after an error. Never raises."""
    try:
        if _attaching.hold():
            return set_value(_variable, context)
        return (_context_api.attach(context),)
    except Exception as fault:
        # For example, a custom runtime context may raise.
        faults.absorb_any("making a context the current one", fault)
        return None


def detach(token: _Token) -> None:
    """Undo what `attach` did, as stock's `detach` does."""
    if type(token) is tuple or not _detaching.hold():
        _context_api.detach(token[0] if type(token) is tuple else token)  # type: ignore[arg-type]  # not narrowed by `is`
        return
    try:
        reset_value(_variable, token)  # type: ignore[arg-type]  # likewise
    except BaseException as error:
        failure = error
    else:
        return
    try:
        # Not within the `except`: stock's log record has no other exception as its context.
        _detach_as_stock(token, failure)
        faults.raise_interruption(failure)
    finally:
        # The exception and its frame would refer to each other.
        del failure


def _detach_as_stock(token: _Token, failure: BaseException) -> None:
    try:
        _runtime.detach(token)
    except Exception:
        # If it was interrupted, the context may have been restored.
        if not faults.is_interruption(failure):
            _context_api.logger.exception("Failed to detach context")


def restore(token: _Token) -> None:
    """Undo what `attach` did before a library was called; does nothing in another context. Never raises.

    An abandoned coroutine or stream is closed when it is garbage-collected, which happens in another context, where
    there is nothing to undo.
    """
    try:
        if not _detaching.hold():
            _context_api.detach(token[0] if type(token) is tuple else token)  # type: ignore[arg-type]  # not narrowed by `is`
        elif type(token) is tuple:
            _context_api._RUNTIME_CONTEXT.detach(token[0])
        else:
            reset_value(_variable, token)  # type: ignore[arg-type]  # likewise
    except ValueError as error:
        faults.raise_interruption(error)
    except BaseException as error:
        try:
            _context_api._RUNTIME_CONTEXT.detach(token[0] if type(token) is tuple else token)  # type: ignore[arg-type]  # likewise
        except (ValueError, RuntimeError):
            # Restored already: an exception arrived afterwards.
            faults.raise_interruption(error)
            return
        except Exception as further:
            faults.raise_interruption(further)
        faults.absorb_any(_RESTORING, error)
