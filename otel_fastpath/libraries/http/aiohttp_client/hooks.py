"""The functions that aiohttp calls for each request, in the place of upstream's."""

from __future__ import annotations

from inspect import getclosurevars
from timeit import default_timer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import aiohttp_client as upstream
from opentelemetry.trace import SpanKind
from opentelemetry.util.http import (
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
)

from otel_fastpath import compiled
from otel_fastpath.libraries.http import kinds
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING: Final = "the beginning of a call of aiohttp"
_END: Final = "the end of a call of aiohttp"
_CLIENT: Final = SpanKind.CLIENT


class SetUp:
    """One call of upstream's `create_trace_config`.

    Args:
        start: Its `on_request_start`; the closure is read.
        end: Its `on_request_end`; likewise.
    """

    def __init__(self, start: Callable[..., Any], end: Callable[..., Any]) -> None:
        given = {**getclosurevars(start).nonlocals, **getclosurevars(end).nonlocals}
        hooks = given["request_hook"], given["response_hook"]
        self.request_hook, self.response_hook = (hook if callable(hook) else None for hook in hooks)
        self.captured_request = given["captured_request_headers"]
        self.captured_response = given["captured_response_headers"]
        self._sensitive = given["sensitive_headers"]
        self._mode = given["sem_conv_opt_in_mode"]
        self.outgoing = compiled.hot("libraries.http.outgoing")
        self._parents = compiled.hot("libraries.http.parents")
        self._is_suppressed = compiled.hot("libraries.http.conventions").is_suppressed
        self.shapes = self.outgoing.Shapes(self._new_shape, kinds.url_keys(self._mode))

    def begin(self, context: Any, params: Any) -> bool | None:
        """Start the span of a request; False if it is suppressed or excluded, None if upstream has to handle it."""
        try:
            excluded = context.excluded_urls
            if self._is_suppressed() or (excluded._excluded_urls and excluded.url_disabled(str(params.url))):
                return False
            if callable(context.url_filter):
                return None
            url = self.outgoing.redacted(str(params.url))
            shape = self.shapes.find(params.method, url)
            if shape is None:
                return None
            names, captured = self.captured_request, None
            if names:
                captured = self.captured(params.headers, names, normalise_request_header_name)
            attributes = self.shapes.attributes(shape, url, captured)
            context.start_time = default_timer()
            # Upstream's own `on_request_end` reads it, if the request ends after ours is removed.
            context.metric_attributes = shape.metric.copy()
            span = context.tracer.start_span(shape.name, None, _CLIENT, attributes)
        except Exception as error:
            faults.report(_BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in upstream's code.
            return None if faults.ours(error) else False
        context.span, context._otel_fastpath_shape = span, shape
        return True

    def enter(self, context: Any) -> None:
        """Make the span of a request the current one."""
        try:
            token = self._parents.activated(context.span)
            # Upstream's own functions take the token of the API.
            context.token = token[0] if type(token) is tuple else token
        except Exception as error:
            faults.report(_BEGINNING, error)

    def end(self, context: Any, shape: Any, response: Any) -> None:
        """End a request that got this response."""
        answer = self.answered(context, shape, response)
        seconds = default_timer() - context.start_time
        self._parents.taken_back(context.token)
        try:
            context.span.end()
        except Exception as error:
            faults.report(_END, error)
        if answer is not None:
            answer.record(seconds)

    def answered(self, context: Any, shape: Any, response: Any) -> Any:
        """Set what the response says on the span; return its `Answer`."""
        try:
            status = response.status
            is_plain = type(status) is int
            answer = shape.answers.get(status) if is_plain else None
            if answer is None:
                seen: Any = kinds.Seen()
                metric = shape.metric.copy()
                set_status: Any = upstream._set_http_status_code_attribute
                set_status(seen, status, metric, self._mode)
                old, new = context.duration_histogram_old, context.duration_histogram_new
                answer = kinds.new_answer(self.outgoing, seen, metric, old, new)
                if is_plain:
                    shape.keep(status, answer)
            span = context.span
            if span.is_recording():
                attributes, names = answer.attributes, self.captured_response
                if names:
                    captured = self.captured(response.headers, names, normalise_response_header_name)
                    attributes = {**attributes, **captured}
                span.set_attributes(attributes)
                if answer.error is not None:
                    span.set_status(answer.error)
        except Exception as error:
            faults.report(_END, error)
            return None
        return answer

    def captured(self, headers: Any, names: Any, normalise: Callable[[str], str]) -> dict[str, Any]:
        """The attributes of captured headers."""
        every = {key: headers.getall(key) for key in headers}
        return get_custom_header_attributes(every, names, self._sensitive, normalise)

    def _new_shape(self, method: str, url: str) -> Any:
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
        except ValueError:
            pass
        return self.outgoing.Shape(method, attributes, len(attributes), metric)


def make_start(set_up: SetUp, original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `on_request_start`."""

    async def on_request_start(session: Any, context: Any, params: Any) -> None:
        begun = set_up.begin(context, params)
        if begun is None:
            await original(session, context, params)
        elif begun:
            if set_up.request_hook is not None:
                set_up.request_hook(context.span, params)
            set_up.enter(context)
            set_up.outgoing.propagate(params.headers)

    return on_request_start


def make_end(set_up: SetUp, original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `on_request_end`."""

    async def on_request_end(session: Any, context: Any, params: Any) -> None:
        try:
            shape = context._otel_fastpath_shape
        except AttributeError:
            shape = None
        if shape is None:
            await original(session, context, params)
            return
        if set_up.response_hook is not None:
            set_up.response_hook(context.span, params)
        set_up.end(context, shape, params.response)

    return on_request_end
