"""Contexts, the span and the baggage in them: `opentelemetry.context`, `.trace` and `.baggage`."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.compiled.facts import equate
from otel_fastpath.patching.patch import Patch, ReplacedError
from otel_fastpath.patching.sources.guard import UnmetError
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.patching.stock import is_defined_in
from otel_fastpath.trace.stock_sources import API, RUNTIME, sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_CONTEXT: Final = "opentelemetry.context"
_TRACE: Final = "opentelemetry.trace"
_SPAN: Final = "opentelemetry.trace.propagation"
_BAGGAGE: Final = "opentelemetry.baggage"
# What stock's functions call to find the current context, and to read or change it.
_READING: Final = (f"{_CONTEXT}:get_current", f"{RUNTIME}.get_current", f"{_CONTEXT}:get_value")
_SETTING: Final = (*_READING, f"{_CONTEXT}:set_value")
_ENTRIES: Final = f"{_BAGGAGE}:_get_baggage_value"


@functools.cache
def _once(bind: Callable[[Any], Any], original: Any) -> Any:
    """The same replacement whenever it is applied: where it was imported by name, it is in force again then."""
    replacement = bind(original)
    equate(replacement, original)
    return replacement


def _patch(
    name: str,
    target: str,
    bind: Callable[[], Callable[[Any], Any]],
    *,
    why: str,
    calls: tuple[str, ...],
    budgets: tuple[str, ...],
    written: str = "",
) -> Patch:
    """The patch of a function; `written` is the module that defines it, if another one imports it."""
    module = written or target.partition(":")[0]

    def make(original: Any, _settings: Config) -> Any:
        runtime: Any = sys.modules[_CONTEXT]._RUNTIME_CONTEXT
        if f"{type(runtime).__module__}:{type(runtime).__qualname__}" != RUNTIME:
            raise UnmetError(f"the runtime context is another one: {type(runtime).__qualname__}")
        if not is_defined_in(sys.modules[module], original):
            raise ReplacedError(f"{target} is replaced already, by {origin(original)}")
        return _once(bind(), original)

    return Patch(
        name=name,
        target=target,
        why=why,
        make=make,
        requires=API,
        sources=sources(f"{module}:{target.partition(':')[2]}", *calls),
        after=(_TRACE,),
        only_compiled=True,
        budgets=budgets,
    )


PATCHES: Final = (
    _patch(
        "context.attach",
        f"{_CONTEXT}:attach",
        lambda: hot.trace_context_context_functions.bind_attach,
        why="Sets the context variable through two Python functions; here through none.",
        calls=(f"{RUNTIME}.attach",),
        budgets=("attach and detach",),
    ),
    _patch(
        "context.detach",
        f"{_CONTEXT}:detach",
        lambda: hot.trace_context_context_functions.bind_detach,
        why="Resets the context variable through two Python functions; here through none.",
        calls=(f"{RUNTIME}.detach",),
        budgets=("attach and detach",),
    ),
    _patch(
        "context.get_value",
        f"{_CONTEXT}:get_value",
        lambda: hot.trace_context_context_functions.bind_get_value,
        why="Reads the context variable through three Python functions; here through none.",
        calls=_READING,
        budgets=("get_value", "get_value, a given context"),
    ),
    _patch(
        "context.set_value",
        f"{_CONTEXT}:set_value",
        lambda: hot.trace_context_context_functions.bind_set_value,
        why="Copies the context twice; here once.",
        calls=_SETTING,
        budgets=("set_value",),
    ),
    _patch(
        "trace.set_span_in_context",
        f"{_TRACE}:set_span_in_context",
        lambda: hot.trace_context_context_functions.bind_set_span,
        why="Copies the context twice, four functions deep; here once.",
        calls=_SETTING,
        budgets=("set_span_in_context", "set_span_in_context, a given context"),
        written=_SPAN,
    ),
    _patch(
        "trace.get_current_span",
        f"{_TRACE}:get_current_span",
        lambda: hot.trace_context_context_functions.bind_get_span,
        why="Four functions, and an abstract class that is asked whether it is a span; here one comparison.",
        calls=_READING,
        budgets=tuple(f"get_current_span, {case}" for case in ("none", "below a span", "a given context")),
        written=_SPAN,
    ),
    _patch(
        "baggage.get_all",
        f"{_BAGGAGE}:get_all",
        lambda: hot.trace_context_baggage_functions.bind_get_all,
        why="Reads the baggage through four or five Python functions; here through one.",
        calls=(*_READING, _ENTRIES),
        budgets=("baggage.get_all",),
    ),
    _patch(
        "baggage.get_baggage",
        f"{_BAGGAGE}:get_baggage",
        lambda: hot.trace_context_baggage_functions.bind_get_baggage,
        why="Reads the baggage through four or five Python functions; here through one.",
        calls=(*_READING, _ENTRIES),
        budgets=("get_baggage, none", "get_baggage, a given context"),
    ),
    _patch(
        "baggage.set_baggage",
        f"{_BAGGAGE}:set_baggage",
        lambda: hot.trace_context_baggage_functions.bind_set_baggage,
        why="Reads the current context twice and copies it twice; here once.",
        calls=(*_SETTING, _ENTRIES),
        budgets=("set_baggage", "set_baggage, a given context"),
    ),
)
