"""The function that runs for each call, in the place of stock's. Plain Python; compiled as `hooks_c`."""

from __future__ import annotations

import functools
from inspect import getclosurevars
from timeit import default_timer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import requests as stock
from opentelemetry.semconv._incubating.attributes.user_agent_attributes import USER_AGENT_SYNTHETIC_TYPE
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.network_attributes import NETWORK_PEER_ADDRESS, NETWORK_PEER_PORT
from opentelemetry.semconv.attributes.user_agent_attributes import USER_AGENT_ORIGINAL
from opentelemetry.trace import SpanKind
from opentelemetry.util.http import (
    detect_synthetic_user_agent,
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
    normalize_user_agent,
)
from requests.models import Response
from requests.structures import CaseInsensitiveDict

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http import kinds
from otel_fastpath.http.conventions import is_suppressed
from otel_fastpath.http.exclusions import search_of
from otel_fastpath.http.outgoing import (
    CallShape,
    CallShapes,
    ResponsePlan,
    connecting,
    end_connecting,
    is_connecting,
    propagate,
    redacted,
    resume,
    suppress,
)
from otel_fastpath.http.scopes import enter_scope, exit_scope, make_scope
from otel_fastpath.http.stock import STOCK
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING = "the beginning of a call of requests"
_END = "the end of a call of requests"
_CLIENT = SpanKind.CLIENT
# Other code may replace the functions in whose place these stand.
_STOCK = STOCK["requests.send"]
_facts = Facts(UNKNOWN)
_HTTP_1_1 = 11
# A longer header is examined for each call.
_LONGEST = 512


class RequestsInstrumentation:
    """One call of stock's `_instrument`.

    Args:
        original: The function with its options, as `Session.send` is wrapped; its closure is read.
    """

    __slots__ = (
        *("_captured_request", "_captured_response", "_excluded", "_has_hooks", "_is_new", "_mode", "_new", "_old"),
        *("_original", "_request_hook", "_response_hook", "_sensitive", "_shapes", "_tracer", "_wrapped"),
    )

    def __init__(self, original: Callable[..., Any]) -> None:
        given = getclosurevars(original).nonlocals
        self._original = original
        self._tracer = given["tracer"]
        self._old, self._new = given["duration_histogram_old"], given["duration_histogram_new"]
        request_hook, response_hook = given["request_hook"], given["response_hook"]
        self._request_hook = request_hook if callable(request_hook) else None
        self._response_hook = response_hook if callable(response_hook) else None
        self._has_hooks = self._request_hook is not None or self._response_hook is not None
        self._captured_request = given["captured_request_headers"]
        self._captured_response = given["captured_response_headers"]
        self._sensitive = given["sensitive_headers"]
        self._mode = given["sem_conv_opt_in_mode"]
        self._is_new = semconv._report_new(self._mode)
        self._wrapped = given["wrapped_send"]
        self._excluded = search_of(given["excluded_urls"])
        self._shapes = CallShapes(self._new_shape, kinds.url_keys(self._mode))

    def send(self, session: Any, /, request: Any, **kwargs: Any) -> Any:
        """Send a request, in the place of stock's wrapper of `Session.send`."""
        begun = self.begin(request)
        if begun is NotImplemented:
            return self._original(session, request, **kwargs)
        if begun is None:
            return self._wrapped(session, request, **kwargs)
        shape, attributes = begun
        scope = make_scope(self._tracer, shape.name, _CLIENT, attributes)
        if scope is not None:
            try:
                span = enter_scope(scope)
                if span is not None:
                    response = self._send(shape, span, (session, request), kwargs)
                    exit_scope(scope, None)
                    return response
            except BaseException as error:
                exit_scope(scope, error)
                raise
        return self._wrapped(session, request, **kwargs)

    def _send(self, shape: CallShape, span: Any, args: tuple[Any, Any], kwargs: dict[str, Any]) -> Any:
        """Send the request inside its span.

        Args:
            shape: The `CallShape` of the call.
            span: The span.
            args: The session and the request.
            kwargs: The other arguments of `Session.send`.
        """
        request = args[1]
        manager = None
        try:
            if self._has_hooks or is_connecting():
                manager = connecting(span)
            if self._request_hook is not None:
                self._request_hook(span, request)
            propagate(request.headers)
            token = suppress(None if manager is not None else span)
            start = default_timer()
            try:
                try:
                    response = self._wrapped(*args, **kwargs)
                finally:
                    seconds = default_timer() - start
                    resume(token)
            except Exception as error:
                response = self.response_of(error)
                answer = self.record_response(shape, span, response)
                if self._response_hook is not None and response is not None:
                    self._response_hook(span, request, response)
                self.record_error(answer, span, error, seconds)
                raise
            answer = self.record_response(shape, span, response)
            if self._response_hook is not None and isinstance(response, Response):
                self._response_hook(span, request, response)
            if answer is not None:
                answer.record(seconds)
            return response
        finally:
            if manager is not None:
                try:
                    end_connecting(manager)
                finally:
                    # The first may have been interrupted at its beginning.
                    end_connecting(manager)

    def begin(self, request: Any) -> Any:
        """Prepare a call.

        Returns:
            Its shape, and the attributes of the span at its start; None if the call is suppressed or its URL excluded;
            `NotImplemented` if stock's own code has to run the call.
        """
        try:
            if not (_facts.hold() or _STOCK.holds_again(_facts)):
                return NotImplemented
            if (self._excluded is not None and self._excluded(request.url)) or is_suppressed():
                return None
            headers = request.headers
            if type(headers) is not CaseInsensitiveDict or type(request.url) is not str:
                return NotImplemented
            url = redacted(request.url)
            shape = self._shapes.find(request.method, url)
            if shape is None:
                return NotImplemented
            agent = headers.get("User-Agent")
            is_kept = type(agent) is str and len(agent) <= _LONGEST
            captured = _agent_kept(agent) if is_kept else _agent(agent)
            names = self._captured_request
            if names:
                captured = {**captured, **self._captured(headers, names, normalise_request_header_name)}
            return shape, self._shapes.attributes(shape, url, captured)
        except Exception as error:
            faults.absorb_any(_BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in stock's code.
            return NotImplemented if faults.ours(error) else None

    def record_response(self, shape: CallShape, span: Any, response: Any) -> ResponsePlan | None:
        """Set what the response says on the span; return its `ResponsePlan`."""
        try:
            if not isinstance(response, Response):
                return self._new_answer(shape, None)
            raw = response.raw
            version = None if raw is None else getattr(raw, "version", None)
            status = response.status_code
            is_plain = type(status) is int and (version is None or type(version) is int)
            answer = get_item(shape.answers, (status, version)) if is_plain else None
            if answer is None:
                answer = self._new_answer(shape, response)
                if is_plain:
                    shape.keep((status, version), answer)
            if span.is_recording():
                attributes = answer.attributes
                names = self._captured_response
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

    def response_of(self, error: Exception) -> Response | None:
        """The response that an exception has, if it has one."""
        try:
            response = getattr(error, "response", None)
            return response if isinstance(response, Response) else None
        except Exception as fault:
            faults.absorb_any(_END, fault)
            return None

    def record_error(self, answer: ResponsePlan | None, span: Any, error: Exception, seconds: float) -> None:
        """Set the type of an exception on the span, and record the duration."""
        try:
            metric = {} if answer is None else answer.metric
            if self._is_new:
                name = type(error).__qualname__
                span.set_attribute(ERROR_TYPE, name)
                metric = {**metric, ERROR_TYPE: name}
            if self._old is not None:
                self._old.record(max(round(seconds * 1000), 0), attributes=kinds.old_attributes(metric))
            if self._new is not None:
                self._new.record(seconds, attributes=kinds.new_attributes(metric))
        except Exception as fault:
            faults.absorb_any(_END, fault)

    def _new_shape(self, method: str, url: str) -> CallShape:
        mode = self._mode
        attributes: dict[str, Any] = {}
        metric: dict[str, Any] = {}
        semconv._set_http_method(attributes, method, method, mode)
        semconv._set_http_url(attributes, url, mode)
        before = len(attributes)
        semconv._set_http_method(metric, method, method, mode)
        try:
            parsed = urlparse(url)
            if parsed.scheme and semconv._report_old(mode):
                semconv._set_http_scheme(metric, parsed.scheme, mode)
            if parsed.hostname:
                semconv._set_http_host_client(metric, parsed.hostname, mode)
                semconv._set_http_net_peer_name_client(metric, parsed.hostname, mode)
                if self._is_new:
                    semconv._set_http_host_client(attributes, parsed.hostname, mode)
                    attributes[NETWORK_PEER_ADDRESS] = parsed.hostname
            if parsed.port:
                semconv._set_http_peer_port_client(metric, parsed.port, mode)
                if self._is_new:
                    semconv._set_http_peer_port_client(attributes, parsed.port, mode)
                    attributes[NETWORK_PEER_PORT] = parsed.port
        except ValueError as error:
            faults.raise_interruption(error)
        return CallShape(method, attributes, before, metric)

    def _new_answer(self, shape: CallShape, response: Any) -> ResponsePlan:
        seen, metric = kinds.Seen(), shape.metric.copy()
        if response is not None:
            set_status: Any = stock._set_http_status_code_attribute
            set_status(seen, response.status_code, metric, self._mode)
            version = None if response.raw is None else getattr(response.raw, "version", None)
            if version:
                text = "1.1" if version == _HTTP_1_1 else "1.0"
                semconv._set_http_network_protocol_version(metric, text, self._mode)
                if self._is_new:
                    attributes: dict[str, Any] = {}
                    semconv._set_http_network_protocol_version(attributes, text, self._mode)
                    seen.set_attributes(attributes)
        made: ResponsePlan = kinds.new_answer(ResponsePlan, seen, metric, self._old, self._new)
        return made

    def _captured(self, headers: Any, names: Any, normalise: Callable[[str], str]) -> dict[str, Any]:
        return get_custom_header_attributes(headers, names, self._sensitive, normalise)


def _agent(value: Any) -> dict[str, Any]:
    """The attributes of a user agent."""
    text = normalize_user_agent(value)
    kind = detect_synthetic_user_agent(text)
    made: dict[str, Any] = {USER_AGENT_SYNTHETIC_TYPE: kind} if kind else {}
    return {**made, USER_AGENT_ORIGINAL: text} if text else made


_agent_kept = functools.lru_cache(maxsize=64)(_agent)


def make_send(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for stock's wrapper of `Session.send`."""
    return RequestsInstrumentation(original).send
