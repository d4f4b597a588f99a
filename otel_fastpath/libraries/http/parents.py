"""The span of a request in WSGI's form: below the current span, or below the remote parent in the headers.

Plain Python; compiled as `parents_c`.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api
from opentelemetry import propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context.context import Context
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace import INVALID_SPAN, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults
from otel_fastpath.patching.swap import seen_through
from otel_fastpath.trace.context.current_context import (
    attach,
    attach_context,
    attach_upstreams_way,
    current,
    detach,
    span_in,
)
from otel_fastpath.trace.upstream import as_defined

if TYPE_CHECKING:
    from otel_fastpath.trace.context.current_context import _Token

_SERVER = SpanKind.SERVER
_INTERNAL = SpanKind.INTERNAL
# With baggage first, the context is the current one instead of an empty one.
_USUAL = (
    [TraceContextTextMapPropagator],
    [TraceContextTextMapPropagator, W3CBaggagePropagator],
)


class Found:
    """What the global propagator is, and what that rests on.

    Attributes:
        trace_context: The propagator of the headers `traceparent` and `tracestate`, or None if the global propagator is
            not one of the usual ones: trace context, then perhaps baggage.
        facts: The facts that this follows from.
    """

    __slots__ = ("facts", "trace_context")

    def __init__(self, facts: Facts, trace_context: TraceContextTextMapPropagator | None) -> None:
        self.facts = facts
        self.trace_context = trace_context


class W3C:
    """Whether the global propagator reads nothing but W3C's headers: a request without them has no remote parent."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: Found | None = None

    def propagator(self) -> TraceContextTextMapPropagator | None:
        """The current `Found.trace_context`."""
        found = _kept(self)
        if found is None or not found.facts.hold():
            found = self._look_again()
        return found.trace_context

    def _look_again(self) -> Found:
        used = propagate._HTTP_TEXT_FORMAT
        items: list[tuple[object, str, object]] = [
            (propagate, "_HTTP_TEXT_FORMAT", used),
            (propagate, "get_global_textmap", propagate.get_global_textmap),
            (CompositePropagator, "extract", CompositePropagator.extract),
            (TraceContextTextMapPropagator, "extract", TraceContextTextMapPropagator.extract),
            (W3CBaggagePropagator, "extract", W3CBaggagePropagator.extract),
        ]
        parts = getattr(used, "_propagators", None)
        trace_context = None
        if type(used) is CompositePropagator and _are_usual(parts):
            trace_context = next(iter(parts))  # type: ignore[arg-type]  # not None
            items.append((used, "_propagators", parts))
        found = Found(Facts(items), trace_context)
        _keep(self, found)
        return found


@critical_section
def _kept(w3c: W3C) -> Found | None:
    return w3c._found


@critical_section
def _keep(w3c: W3C, found: Found) -> None:
    w3c._found = found


def _are_usual(parts: Any) -> bool:
    return (
        isinstance(parts, (list, tuple))
        and [type(part) for part in parts] in _USUAL
        and not any(vars(part) for part in parts)
        and propagate.get_global_textmap is as_defined(propagate, "get_global_textmap")
        and CompositePropagator.extract is as_defined(CompositePropagator, "extract")
        and all(_is_upstreams(kind) for kind in (TraceContextTextMapPropagator, W3CBaggagePropagator))
    )


def _is_upstreams(kind: Any) -> bool:
    """Whether a propagator's `extract` is upstream's, or this package's in its place."""
    function = seen_through(vars(kind).get("extract"))
    return type(function) is FunctionType and function.__module__ == kind.__module__


_w3c = W3C()


def w3c_propagator() -> TraceContextTextMapPropagator | None:
    """The propagator of trace context, if nothing but it and perhaps baggage's is used."""
    return _w3c.propagator()


def remote(environ: dict[str, Any]) -> Context:
    """The context that the propagator extracts from the headers of this request."""
    propagator = _w3c.propagator()
    if propagator is not None and "HTTP_BAGGAGE" not in environ:
        parent = environ.get("HTTP_TRACEPARENT")
        if parent is None:
            return Context()
        if type(parent) is str:
            headers = {"traceparent": parent}
            state = environ.get("HTTP_TRACESTATE")
            if state is None or type(state) is str:
                if state is not None:
                    headers["tracestate"] = state
                return propagator.extract(headers)
    from opentelemetry.instrumentation.wsgi import wsgi_getter  # noqa: PLC0415  # aiohttp's may be there without it

    return propagate.extract(environ, getter=wsgi_getter)


def start(
    tracer: Any, name: str, environ: dict[str, Any], attributes: dict[str, Any], start_time: int | None = None
) -> tuple[Any, Context | None, _Token | None]:
    """Start the span of a request, as upstream's `_start_internal_or_server_span` does.

    Returns:
        The span; the context that was made the current one, and its token; None twice if that is not needed.
    """
    if span_in(None) is not None and trace.get_current_span() is not INVALID_SPAN:
        context = context_api.get_current()
        span = tracer.start_span(name, context, _INTERNAL, attributes, (), start_time)
        return span, None, None
    context = remote(environ)
    token = attached(context) if context or current() else None
    try:
        span = tracer.start_span(name, context, _SERVER, attributes, (), start_time)
    except BaseException:
        if token is not None:
            context_api.detach(token[0] if type(token) is tuple else token)  # type: ignore[arg-type]  # not narrowed by `is`
        raise
    return span, None if token is None else context, token


def attached(context: Context) -> _Token:
    """Make a context the current one; returns the token for `detach` of `current_context`."""
    return attach_context(context) or (context_api.attach(context),)


def activated(span: Any) -> _Token:
    """Make a span the current one; returns the token for `detach` of `current_context`."""
    try:
        return attach(span)
    except Exception as fault:
        faults.report("making a span the current one", fault)
    return attach_upstreams_way(span)


def taken_back(token: _Token | None) -> None:
    """Undo `attached` or `activated`; None: there is nothing to undo. Never raises."""
    if token is None:
        return
    try:
        detach(token)
    except Exception as fault:
        faults.report("restoring the context", fault)
        try:
            context_api._RUNTIME_CONTEXT.detach(token[0] if type(token) is tuple else token)  # type: ignore[arg-type]  # not narrowed by `is`
        except Exception as further:
            faults.report("restoring the context", further)
