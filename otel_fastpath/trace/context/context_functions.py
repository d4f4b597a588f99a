"""Reading and changing contexts through the API, without calls in between. Compiled as `context_functions_c`.

Each replacement does what stock's function does with the runtime context of the API; with any other one, with other
types, or where what stock's function calls was replaced, stock's function is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.trace import propagation as _propagation
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import INVALID_SPAN, Span

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_value, is_instance, reset_value, set_value, value_of, with_value
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import (
    ATTACHING_CONTEXT,
    DETACHING_CONTEXT,
    GETTING_CURRENT,
    _variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import Any

# What is skipped, and what is read: other code may replace it.
_KEY = (_propagation, "_SPAN_KEY", _SPAN_KEY)
_reading = Facts(GETTING_CURRENT)
_attaching = Facts(ATTACHING_CONTEXT)
_detaching = Facts(DETACHING_CONTEXT)
_reading_span = Facts([_KEY, (_propagation, "get_value", as_defined(_context_api, "get_value"))])
_setting_span = Facts([_KEY, (_propagation, "set_value", as_defined(_context_api, "set_value"))])


def known_context(context: object) -> Context | None:
    """The context (None: the current one), if stock's functions need not be asked for it; else None."""
    if context is None:
        if not _reading.hold():
            return None
        context = get_value(_variable)
    return context if type(context) is Context else None


def attach_known(context: Context) -> Token[Context] | None:
    """Make a context the current one, as the API's `attach` does; None if that must do it."""
    return set_value(_variable, context) if _attaching.hold() else None


def bind_attach(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.context.attach`."""
    switch = Switch()

    def attach(context: Context) -> Token[Context]:
        try:
            if not switch.inert and _attaching.hold():
                return set_value(_variable, context)
        except Exception as error:
            faults.absorb("opentelemetry.context.attach", error)
        return original(context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, attach, switch)


def bind_detach(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.context.detach`."""
    switch = Switch()

    def detach(token: Token[Context]) -> None:
        try:
            if not switch.inert and _detaching.hold():
                reset_value(_variable, token)
                return
        except (RuntimeError, TypeError, ValueError):
            # Of a token of another context, for example: stock's function gets the same error, and logs it.
            pass
        except Exception as error:
            faults.absorb("opentelemetry.context.detach", error)
        original(token)

    return make_switchable(original, detach, switch)


def bind_get_value(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.context.get_value`."""
    switch = Switch()

    def get_value(key: str, context: Context | None = None) -> object:
        try:
            if not switch.inert and type(key) is str:
                known = known_context(context)
                if known is not None:
                    return value_of(known, key)
        except Exception as error:
            faults.absorb("opentelemetry.context.get_value", error)
        return original(key, context)

    return make_switchable(original, get_value, switch)


def bind_set_value(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.context.set_value`."""
    switch = Switch()

    def set_value(key: str, value: object, context: Context | None = None) -> Context:
        try:
            if not switch.inert and type(key) is str:
                known = known_context(context)
                if known is not None:
                    return with_value(Context, known, key, value)
        except Exception as error:
            faults.absorb("opentelemetry.context.set_value", error)
        return original(key, value, context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, set_value, switch)


def bind_set_span(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.trace.set_span_in_context`."""
    switch = Switch()

    def set_span_in_context(span: Span, context: Context | None = None) -> Context:
        try:
            if not switch.inert and _setting_span.hold():
                known = known_context(context)
                if known is not None:
                    return with_value(Context, known, _SPAN_KEY, span)
        except Exception as error:
            faults.absorb("opentelemetry.trace.set_span_in_context", error)
        return original(span, context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, set_span_in_context, switch)


def bind_get_span(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.trace.get_current_span`."""
    switch = Switch()

    def get_current_span(context: Context | None = None) -> Span:
        try:
            if not switch.inert and _reading_span.hold():
                known = known_context(context)
                if known is not None:
                    span = value_of(known, _SPAN_KEY)
                    if span is None:
                        return INVALID_SPAN
                    # Not one that is registered as a span: stock's abstract class knows those.
                    if is_instance(Span, span):
                        return span  # type: ignore[return-value]  # it is one
        except Exception as error:
            faults.absorb("opentelemetry.trace.get_current_span", error)
        return original(context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, get_current_span, switch)
