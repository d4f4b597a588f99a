"""Making spans current through the API: `opentelemetry.trace.use_span`, the no-op tracer and the proxy tracer."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import API, CONTEXT_MANAGERS, SCOPE, frame_at_yield, sources, start_by_keyword

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.trace"


@functools.cache
def _once(bind: Callable[..., Any], original: Any) -> Any:
    """The same replacement whenever it is applied: that of a no-op tracer's method rests on it."""
    from opentelemetry.trace import INVALID_SPAN  # noqa: PLC0415  # only where it is being patched

    return bind(original, (frame_at_yield(original, INVALID_SPAN),))


def _make_use_span(original: Any, _settings: Config) -> Any:
    return _once(hot.trace_context_current_span.bind_use_span, original)


def _make_no_op(original: Any, _settings: Config) -> Any:
    return hot.trace_context_current_span.bind_no_op(original, start_by_keyword)


def _make_proxy(original: Any, _settings: Config) -> Any:
    tracer = SimpleNamespace(_tracer=SimpleNamespace(start_as_current_span=nullcontext))
    return hot.trace_context_current_span.bind_proxy(original, (frame_at_yield(original, tracer),))


def _patch(name: str, target: str, why: str, make: Callable[[Any, Config], Any], budget: str) -> Patch:
    return Patch(
        name=name,
        target=f"{_MODULE}:{target}",
        why=why,
        make=make,
        requires=API,
        sources=sources(f"{_MODULE}:{target}", f"{_MODULE}:use_span", *SCOPE),
        decorators=CONTEXT_MANAGERS,
        budgets=(budget,),
    )


PATCHES: Final = (
    _patch(
        "trace.use_span",
        "use_span",
        "A generator context manager that copies the context twice: 20,000 instructions; here one class.",
        _make_use_span,
        "use_span",
    ),
    _patch(
        "trace.no_op_tracer",
        "NoOpTracer.start_as_current_span",
        "Without an SDK a span that records nothing costs 40,000 instructions in generators.",
        _make_no_op,
        "no SDK configured",
    ),
    _patch(
        "trace.proxy_tracer",
        "ProxyTracer.start_as_current_span",
        "A tracer that code got before a provider was set puts a third generator around each span.",
        _make_proxy,
        "no SDK configured",
    ),
)
