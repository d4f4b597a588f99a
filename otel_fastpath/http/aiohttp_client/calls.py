"""One call of aiohttp: before the request, and after the response. Plain Python; compiled as `calls_c`."""

from __future__ import annotations

from inspect import getclosurevars
from timeit import default_timer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import aiohttp_client as stock
from opentelemetry.trace import SpanKind
from opentelemetry.util.http import (
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
)

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http import kinds
from otel_fastpath.http.conventions import is_suppressed
from otel_fastpath.http.outgoing import CallShape, CallShapes, ResponsePlan, propagate, redacted
from otel_fastpath.http.parents import activate, detach_token
from otel_fastpath.http.stock import STOCK
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.current_context import restore
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING = "the beginning of a call of aiohttp"
_END = "the end of a call of aiohttp"
_CLIENT = SpanKind.CLIENT
# Other code may replace the functions in whose place these stand.
_STOCK = STOCK["aiohttp_client.trace_config"]
_facts = Facts(UNKNOWN)


class AiohttpClientInstrumentation:
    """One call of stock's `create_trace_config`.

    Args:
        start: Its `on_request_start`; the closure is read.
        end: Its `on_request_end`; likewise.
    """

    __slots__ = (
        *("_captured_request", "_captured_response", "_mode", "_request_hook", "_response_hook", "_sensitive"),
        "_shapes",
    )

    def __init__(self, start: Callable[..., Any], end: Callable[..., Any]) -> None:
        given = {**getclosurevars(start).nonlocals, **getclosurevars(end).nonlocals}
        request_hook, response_hook = given["request_hook"], given["response_hook"]
        self._request_hook = request_hook if callable(request_hook) else None
        self._response_hook = response_hook if callable(response_hook) else None
        self._captured_request = given["captured_request_headers"]
        self._captured_response = given["captured_response_headers"]
        self._sensitive = given["sensitive_headers"]
        self._mode = given["sem_conv_opt_in_mode"]
        self._shapes = CallShapes(self._new_shape, kinds.url_keys(self._mode))

    def start(self, context: Any, params: Any) -> bool:
        """Start a request; False if stock has to handle it.

        Args:
            context: The trace configuration's context of this request.
            params: What aiohttp says of the request.
        """
        begun = self.begin(context, params)
        if begun:
            if self._request_hook is not None:
                self._request_hook(context.span, params)
            self.enter(context)
            propagate(params.headers)
        return begun is not None

    def finish(self, context: Any, params: Any) -> bool:
        """End a request that got a response; False if stock has to handle it. See `start`."""
        try:
            shape = context._otel_fastpath_shape
        except AttributeError:
            return False
        if self._response_hook is not None:
            self._response_hook(context.span, params)
        self.end(context, shape, params.response)
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

    def begin(self, context: Any, params: Any) -> bool | None:
        """Start the span of a request; False if it is suppressed or excluded, None if stock has to handle it."""
        try:
            if not (_facts.hold() or _STOCK.holds_again(_facts)):
                return None
            excluded = context.excluded_urls
            if is_suppressed() or (excluded._excluded_urls and excluded.url_disabled(str(params.url))):
                return False
            # A method that is no text is the application's mistake, which stock passes on.
            if callable(context.url_filter) or type(params.method) is not str:
                return None
            url = redacted(str(params.url))
            shape = self._shapes.find(params.method, url)
            if shape is None:
                return None
            names, captured = self._captured_request, None
            if names:
                captured = self._captured(params.headers, names, normalise_request_header_name)
            attributes = self._shapes.attributes(shape, url, captured)
            context.start_time = default_timer()
            # Stock's own `on_request_end` reads it, if the request ends after ours is removed.
            context.metric_attributes = shape.metric.copy()
            context.span = context.tracer.start_span(shape.name, None, _CLIENT, attributes)
        except Exception as error:
            faults.absorb_any(_BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in stock's code.
            return None if faults.ours(error) else False
        context._otel_fastpath_shape = shape
        return True

    def enter(self, context: Any) -> None:
        """Make the span of a request the current one."""
        try:
            token = activate(context.span)
            # Stock's own functions take the token of the API.
            context.token = token[0] if type(token) is tuple else token
        except Exception as error:
            faults.absorb_any(_BEGINNING, error)

    def end(self, context: Any, shape: CallShape, response: Any) -> None:
        """End a request that got this response."""
        try:
            answer = self.record_response(context, shape, response)
            seconds = default_timer() - context.start_time
        finally:
            detach_token(context.token)
            end_span(context.span, _END)
        if answer is not None:
            answer.record(seconds)

    def record_response(self, context: Any, shape: CallShape, response: Any) -> ResponsePlan | None:
        """Set what the response says on the span; return its `ResponsePlan`."""
        try:
            status = response.status
            is_plain = type(status) is int
            answer = get_item(shape.answers, status) if is_plain else None
            if answer is None:
                seen: Any = kinds.Seen()
                metric = shape.metric.copy()
                set_status: Any = stock._set_http_status_code_attribute
                set_status(seen, status, metric, self._mode)
                old, new = context.duration_histogram_old, context.duration_histogram_new
                answer = kinds.new_answer(ResponsePlan, seen, metric, old, new)
                if is_plain:
                    shape.keep(status, answer)
            span = context.span
            if span.is_recording():
                attributes, names = answer.attributes, self._captured_response
                if names:
                    captured = self._captured(response.headers, names, normalise_response_header_name)
                    attributes = {**attributes, **captured}
                span.set_attributes(attributes)
                if answer.error is not None:
                    span.set_status(answer.error)
        except Exception as error:
            faults.absorb_any(_END, error)
            return None
        return answer

    def _captured(self, headers: Any, names: Any, normalise: Callable[[str], str]) -> dict[str, Any]:
        """The attributes of captured headers."""
        every = {key: headers.getall(key) for key in headers}
        return get_custom_header_attributes(every, names, self._sensitive, normalise)

    def _new_shape(self, method: str, url: str) -> CallShape:
        mode = self._mode
        is_new = semconv._report_new(mode)
        attributes: dict[str, Any] = {}
        metric: dict[str, Any] = {}
        semconv._set_http_method(attributes, method, method, mode)
        semconv._set_http_method(metric, method, method, mode)
        semconv._set_http_url(attributes, url, mode)
        try:
            parsed = urlparse(url)
            if parsed.hostname:
                semconv._set_http_host_client(metric, parsed.hostname, mode)
                semconv._set_http_net_peer_name_client(metric, parsed.hostname, mode)
                if is_new:
                    semconv._set_http_host_client(attributes, parsed.hostname, mode)
            if parsed.port:
                semconv._set_http_peer_port_client(metric, parsed.port, mode)
                if is_new:
                    semconv._set_http_peer_port_client(attributes, parsed.port, mode)
        except ValueError as error:
            faults.raise_interruption(error)
        return CallShape(method, attributes, len(attributes), metric)
