"""One call of aiohttp: before the request, and after the response. Plain Python; compiled as `calls_c`."""

from __future__ import annotations

from inspect import getclosurevars
from timeit import default_timer
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import aiohttp_client as stock
from opentelemetry.trace import SpanKind

from otel_fastpath.http.client import BEGINNING, ClientInstrumentation
from otel_fastpath.http.clients.outgoing import ClientCall, propagate, redact
from otel_fastpath.http.scopes import activate, detach_token
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import restore
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.http.clients.kinds import Seen

_END = "the end of a call of aiohttp"
_CLIENT = SpanKind.CLIENT


class AiohttpClientInstrumentation(ClientInstrumentation):
    """One call of stock's `create_trace_config`.

    Args:
        start: Its `on_request_start`; the closure is read.
        end: Its `on_request_end`; likewise.
        context: What it gives to each request.
    """

    __slots__ = ()

    def __init__(self, start: Callable[..., Any], end: Callable[..., Any], context: Any) -> None:
        given = {**getclosurevars(start).nonlocals, **getclosurevars(end).nonlocals}
        for name in ("duration_histogram_old", "duration_histogram_new"):
            given[name] = getattr(context, name)
        super().__init__("opentelemetry.instrumentation.aiohttp_client:create_trace_config", given)

    def start(self, context: Any, params: Any) -> bool:
        """Start a request; False if stock has to handle it.

        Args:
            context: The trace configuration's context of this request.
            params: What aiohttp says of the request.
        """
        begun = self.begin(context, (params,), None)
        if begun is None or begun is NotImplemented:
            return begun is None
        if self.request_hook is not None:
            self.request_hook(context.span, params)
        self.enter(context)
        propagate(params.headers)
        return True

    def finish(self, context: Any, params: Any) -> bool:
        """End a request that got a response; False if stock has to handle it. See `start`."""
        try:
            begun = context._otel_fastpath_call
        except AttributeError:
            return False
        if self.response_hook is not None:
            self.response_hook(context.span, params)
        self.end(context, begun, params.response)
        return True

    def stop(self, context: Any, error: BaseException) -> None:
        """End the span of a request in whose hooks an exception arrived from outside: aiohttp calls none for that."""
        if isinstance(error, Exception) and not faults.is_interruption(error):
            return
        span, token = getattr(context, "span", None), getattr(context, "token", None)
        if token is not None:
            context.token = None
            restore(token)
        if span is not None and span.is_recording():
            end_span(span, _END)

    def prepare(self, subject: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        """See `ClientInstrumentation`; the span has started."""
        context, params = subject, args[0]
        excluded, url = context.excluded_urls, str(params.url)
        if excluded._excluded_urls and excluded.url_disabled(url):
            return None
        # A method that is no text is the application's mistake, which stock passes on.
        if callable(context.url_filter) or type(params.method) is not str:
            return NotImplemented
        url = redact(url)
        shape = self.shapes.find(params.method, url)
        if shape is None:
            return NotImplemented
        begun: ClientCall = self.new_call(shape, args, kwargs)
        attributes = self.shapes.attributes(shape, url, self.captured_of_request(params.headers))
        context.start_time = default_timer()
        # Stock's own `on_request_end` reads it, if the request ends after ours is removed.
        context.metric_attributes = shape.metric.copy()
        context.span = context.tracer.start_span(shape.name, None, _CLIENT, attributes)
        begun.span = context.span
        context._otel_fastpath_call = begun
        return begun

    def enter(self, context: Any) -> None:
        """Make the span of a request the current one."""
        try:
            token = activate(context.span)
            # Stock's own functions take the token of the API.
            context.token = token[0] if type(token) is tuple else token
        except Exception as error:
            faults.absorb_any(BEGINNING, error)

    def end(self, context: Any, begun: ClientCall, response: Any) -> None:
        """End a request that got this response."""
        try:
            self.record_response(begun, response)
            seconds = default_timer() - context.start_time
        finally:
            detach_token(context.token)
            end_span(context.span, _END)
        self.measure(begun, response, seconds)

    def key_of(self, response: Any) -> Any:
        """The status of a response."""
        return response.status if type(response.status) is int else None

    def describe(self, response: Any, seen: Seen, metric: dict[str, Any]) -> None:
        """See `ClientInstrumentation`."""
        set_status: Any = stock._set_http_status_code_attribute
        set_status(seen, response.status, metric, self.mode)

    def readable(self, headers: Any) -> Any:
        """All values of each."""
        return {key: headers.getall(key) for key in headers}
