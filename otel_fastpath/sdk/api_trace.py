"""Making spans current through the API: `opentelemetry.trace.use_span`, the no-op tracer and the proxy tracer."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import core
from otel_fastpath.patching import Patch
from otel_fastpath.sdk._upstream import API, CONTEXT_MANAGERS, frame_at_yield, sources, start_by_keyword

if TYPE_CHECKING:
    from collections.abc import Callable

_MODULE: Final = "opentelemetry.trace"


def _make_use_span(original: Any) -> Any:
    from opentelemetry.trace import INVALID_SPAN  # noqa: PLC0415  # only where it is being patched

    scopes = core.hot("_scope")
    new_scope = scopes.new_scope
    manner = scopes.Manner(None, None, (frame_at_yield(original, INVALID_SPAN),))

    @functools.wraps(original)
    def use_span(
        span: Any,
        end_on_exit: Any = False,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
    ) -> Any:
        return new_scope(
            manner,
            span,
            None,
            None,
            None,
            None,
            None,
            None,
            record_exception,
            set_status_on_exception,
            end_on_exit,
        )

    return use_span


def _make_no_op(original: Any) -> Any:
    from opentelemetry.trace import NoOpTracer, SpanKind  # noqa: PLC0415  # only where it is being patched

    scopes = core.hot("_scope")
    new_scope = scopes.new_scope
    no_op_tracer = NoOpTracer
    # A span that records nothing records no stack trace either: no frames.
    of_no_op = scopes.Manner(None, NoOpTracer.start_span, ())
    of_others = scopes.Manner(None, start_by_keyword, ())
    internal = SpanKind.INTERNAL

    @functools.wraps(original)
    def start_as_current_span(
        self: Any,
        name: Any,
        context: Any = None,
        kind: Any = internal,
        attributes: Any = None,
        links: Any = None,
        start_time: Any = None,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
        end_on_exit: Any = True,
    ) -> Any:
        return new_scope(
            of_no_op if type(self) is no_op_tracer else of_others,
            self,
            name,
            context,
            kind,
            attributes,
            links,
            start_time,
            record_exception,
            set_status_on_exception,
            end_on_exit,
        )

    return start_as_current_span


def _make_proxy(original: Any) -> Any:
    scope = core.hot("_scope").ProxyScope
    tracer = SimpleNamespace(_tracer=SimpleNamespace(start_as_current_span=nullcontext))
    frames = (frame_at_yield(original, tracer),)

    @functools.wraps(original)
    def start_as_current_span(self: Any, *args: Any, **kwargs: Any) -> Any:
        return scope(self, args, kwargs, frames)

    return start_as_current_span


def _patch(name: str, target: str, why: str, make: Callable[[Any], Any]) -> Patch:
    return Patch(
        name=name,
        target=f"{_MODULE}:{target}",
        why=why,
        make=make,
        requires=API,
        sources=sources(f"{_MODULE}:{target}"),
        decorators=CONTEXT_MANAGERS,
    )


PATCHES: Final = (
    _patch(
        "trace.use_span",
        "use_span",
        "A generator context manager that copies the context twice: 20,000 instructions; here one class.",
        _make_use_span,
    ),
    _patch(
        "trace.no_op_tracer",
        "NoOpTracer.start_as_current_span",
        "Without an SDK a span that records nothing costs 40,000 instructions in generators.",
        _make_no_op,
    ),
    _patch(
        "trace.proxy_tracer",
        "ProxyTracer.start_as_current_span",
        "The tracer of code that asked for one before there was a provider puts a third generator around each span.",
        _make_proxy,
    ),
)
