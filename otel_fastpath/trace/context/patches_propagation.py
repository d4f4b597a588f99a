"""W3C Trace Context headers: `opentelemetry.trace.propagation.tracecontext`."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import API, sources

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.trace.propagation.tracecontext"
_CONTEXT: Final = "opentelemetry.trace.span:SpanContext.__new__"
_STATE: Final = "opentelemetry.trace.span:TraceState.__len__"
_EXTRACT: Final = f"{_MODULE}:TraceContextTextMapPropagator.extract"
_INJECT: Final = f"{_MODULE}:TraceContextTextMapPropagator.inject"


def _make_extract(original: Any, _settings: Config) -> Any:
    from opentelemetry.propagators.textmap import default_getter  # noqa: PLC0415  # only where it is being patched

    fast = hot.trace_context_propagation.make_extract(original)

    def extract(self: Any, carrier: Any, context: Any = None, getter: Any = default_getter) -> Any:
        return fast(self, carrier, context, getter)

    return functools.wraps(original)(_in_python(fast, extract))


def _make_inject(original: Any, _settings: Config) -> Any:
    from opentelemetry.propagators.textmap import default_setter  # noqa: PLC0415  # only where it is being patched

    fast = hot.trace_context_propagation.make_inject(original)

    def inject(self: Any, carrier: Any, context: Any = None, setter: Any = default_setter) -> None:
        fast(self, carrier, context, setter)

    return functools.wraps(original)(_in_python(fast, inject))


def _in_python(fast: Any, calling_it: Any) -> Any:
    """A Python function: its code can be replaced when the patch is undone, unlike that of a compiled function."""
    return fast if isinstance(fast, FunctionType) else calling_it


PATCHES: Final = (
    Patch(
        name="propagation.extract",
        target=_EXTRACT,
        why="Reading a traceparent header takes 45,000 instructions; here one conversion and three objects.",
        make=_make_extract,
        requires=API,
        sources=sources(_EXTRACT, "opentelemetry.propagators.textmap:DefaultGetter.get", _CONTEXT),
        budgets=("TraceContext extract",),
    ),
    Patch(
        name="propagation.inject",
        target=_INJECT,
        why="Writing a traceparent header takes 19,000 instructions; here two conversions.",
        make=_make_inject,
        requires=API,
        sources=sources(_INJECT, "opentelemetry.propagators.textmap:DefaultSetter.set", _CONTEXT, _STATE),
        budgets=("TraceContext inject",),
    ),
)
