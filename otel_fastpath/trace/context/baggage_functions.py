"""Reading and setting baggage through the API. Plain Python; compiled as `baggage_functions_c`.

As in `context_functions`: what is not usual, stock's function does.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry import baggage as _baggage_api
from opentelemetry import context as _context_api
from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.context.context import Context

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import copied, get_item, value_of, with_value
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.context_functions import known_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# What is skipped, and what is read: other code may replace it.
_READING = [
    (_baggage_api, "_BAGGAGE_KEY", _BAGGAGE_KEY),
    (_baggage_api, "_get_baggage_value", as_defined(_baggage_api, "_get_baggage_value")),
    (_baggage_api, "get_value", as_defined(_context_api, "get_value")),
]
_reading = Facts(_READING)
_setting = Facts([*_READING, (_baggage_api, "set_value", as_defined(_context_api, "set_value"))])


def _entries_in(context: Context) -> dict[str, object] | None:
    """The baggage in a context; None if stock's functions must be asked for it."""
    entries = value_of(context, _BAGGAGE_KEY)
    if entries is None:
        return {}
    return entries if type(entries) is dict else None


def bind_get_all(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.baggage.get_all`."""
    switch = Switch()

    def get_all(context: Context | None = None) -> Mapping[str, object]:
        try:
            if not switch.inert and _reading.hold():
                known = known_context(context)
                entries = None if known is None else _entries_in(known)
                if entries is not None:
                    return MappingProxyType(entries)
        except Exception as error:
            faults.absorb("opentelemetry.baggage.get_all", error)
        return original(context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, get_all, switch)


def bind_get_baggage(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.baggage.get_baggage`."""
    switch = Switch()

    def get_baggage(name: str, context: Context | None = None) -> object | None:
        try:
            if not switch.inert and type(name) is str and _reading.hold():
                known = known_context(context)
                entries = None if known is None else _entries_in(known)
                if entries is not None:
                    return get_item(entries, name)
        except Exception as error:
            faults.absorb("opentelemetry.baggage.get_baggage", error)
        return original(name, context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, get_baggage, switch)


def bind_set_baggage(original: Callable[..., Any]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.baggage.set_baggage`."""
    switch = Switch()

    def set_baggage(name: str, value: object, context: Context | None = None) -> Context:
        try:
            if not switch.inert and type(name) is str and _setting.hold():
                known = known_context(context)
                entries = None if known is None else _entries_in(known)
                if known is not None and entries is not None:
                    # Others may have the dict, too: `get_all` shows it.
                    entries = copied(entries)
                    entries[name] = value
                    return with_value(Context, known, _BAGGAGE_KEY, entries)
        except Exception as error:
            faults.absorb("opentelemetry.baggage.set_baggage", error)
        return original(name, value, context)  # type: ignore[no-any-return]  # stock's

    return make_switchable(original, set_baggage, switch)
