"""The span of a request in WSGI's form: below the current span, or below the remote parent in the headers.

Plain Python; compiled as `parents_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api
from opentelemetry import propagate, trace
from opentelemetry.context.context import Context
from opentelemetry.trace import INVALID_SPAN, SpanKind

from otel_fastpath.http.scopes import make_current
from otel_fastpath.trace.context.current_context import current, restore, span_in
from otel_fastpath.trace.propagation.global_propagator import w3c_reader

if TYPE_CHECKING:
    from otel_fastpath.trace.context.current_context import _Token

_SERVER = SpanKind.SERVER
_INTERNAL = SpanKind.INTERNAL


def remote(environ: dict[str, Any]) -> Context:
    """The context that the propagator extracts from the headers of this request."""
    propagator = w3c_reader()
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
    """Start the span of a request, as stock's `_start_internal_or_server_span` does.

    Returns:
        The span; the context that was made the current one, and its token; None twice if that is not needed.
    """
    if span_in(None) is not None and trace.get_current_span() is not INVALID_SPAN:
        context = context_api.get_current()
        span = tracer.start_span(name, context, _INTERNAL, attributes, (), start_time)
        return span, None, None
    context = remote(environ)
    token = span = None
    try:
        token = make_current(context) if context or current() else None
        span = tracer.start_span(name, context, _SERVER, attributes, (), start_time)
        return span, None if token is None else context, token  # noqa: TRY300  # an exception may still arrive here
    except BaseException:
        if token is not None:
            restore(token)
        if span is not None:
            span.end()
        raise
