"""The function that runs for each call, in the place of upstream's."""

from __future__ import annotations

import functools
from inspect import getclosurevars
from timeit import default_timer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import requests as upstream
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

from otel_fastpath import compiled
from otel_fastpath.libraries.http import kinds
from otel_fastpath.libraries.http.exclusions import search_of
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING: Final = "the beginning of a call of requests"
_END: Final = "the end of a call of requests"
_CLIENT: Final = SpanKind.CLIENT
_HTTP_1_1: Final = 11
# A longer header is examined for each call.
_LONGEST: Final = 512


class SetUp:
    """One call of upstream's `_instrument`.

    Args:
        original: The function with its options, as `Session.send` is wrapped; its closure is read.
    """

    def __init__(self, original: Callable[..., Any]) -> None:
        given = getclosurevars(original).nonlocals
        self.original = original
        self.tracer = given["tracer"]
        self._old, self._new = given["duration_histogram_old"], given["duration_histogram_new"]
        hooks = given["request_hook"], given["response_hook"]
        self.request_hook, self.response_hook = (hook if callable(hook) else None for hook in hooks)
        self.has_hooks = any(callable(hook) for hook in hooks)
        self._captured_request = given["captured_request_headers"]
        self._captured_response = given["captured_response_headers"]
        self._sensitive = given["sensitive_headers"]
        self._mode = given["sem_conv_opt_in_mode"]
        self._is_new = semconv._report_new(self._mode)
        self.wrapped = given["wrapped_send"]
        self._excluded = search_of(given["excluded_urls"])
        self.outgoing = compiled.hot("libraries.http.outgoing")
        self.scopes = compiled.hot("libraries.http.scopes")
        self._is_suppressed = compiled.hot("libraries.http.conventions").is_suppressed
        self.shapes = self.outgoing.Shapes(self._new_shape, kinds.url_keys(self._mode))

    def begin(self, request: Any) -> Any:
        """Prepare a call.

        Returns:
            The name of the span, its attributes at the start, and its shape; None if the call is suppressed or its URL
            excluded; `NotImplemented` if upstream's own code has to run the call.
        """
        try:
            if (self._excluded is not None and self._excluded(request.url)) or self._is_suppressed():
                return None
            headers = request.headers
            if type(headers) is not CaseInsensitiveDict or type(request.url) is not str:
                return NotImplemented
            url = self.outgoing.redacted(request.url)
            shape = self.shapes.find(request.method, url)
            if shape is None:
                return NotImplemented
            agent = headers.get("User-Agent")
            is_kept = type(agent) is str and len(agent) <= _LONGEST
            captured = _agent_kept(agent) if is_kept else _agent(agent)
            if self._captured_request:
                captured = {
                    **captured,
                    **self._captured(headers, self._captured_request, normalise_request_header_name),
                }
            return shape.name, self.shapes.attributes(shape, url, captured), shape
        except Exception as error:
            faults.report(_BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in upstream's code.
            return NotImplemented if faults.ours(error) else None

    def answered(self, shape: Any, span: Any, response: Any) -> Any:
        """Set what the response says on the span; return its `Answer`."""
        try:
            if not isinstance(response, Response):
                return self._new_answer(shape, None)
            raw = response.raw
            version = None if raw is None else getattr(raw, "version", None)
            status = response.status_code
            is_plain = type(status) is int and (version is None or type(version) is int)
            answer = shape.answers.get((status, version)) if is_plain else None
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
            faults.report(_END, error)
            return None
        return answer

    def response_of(self, error: Exception) -> Response | None:
        """The response that an exception has, if it has one."""
        try:
            response = getattr(error, "response", None)
            return response if isinstance(response, Response) else None
        except Exception as fault:
            faults.report(_END, fault)
            return None

    def failed(self, answer: Any, span: Any, error: Exception, seconds: float) -> None:
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
            faults.report(_END, fault)

    def _new_shape(self, method: str, url: str) -> Any:
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
        except ValueError:
            pass
        return self.outgoing.Shape(method, attributes, before, metric)

    def _new_answer(self, shape: Any, response: Any) -> Any:
        seen, metric = kinds.Seen(), shape.metric.copy()
        if response is not None:
            set_status: Any = upstream._set_http_status_code_attribute
            set_status(seen, response.status_code, metric, self._mode)
            version = None if response.raw is None else getattr(response.raw, "version", None)
            if version:
                text = "1.1" if version == _HTTP_1_1 else "1.0"
                semconv._set_http_network_protocol_version(metric, text, self._mode)
                if self._is_new:
                    attributes: dict[str, Any] = {}
                    semconv._set_http_network_protocol_version(attributes, text, self._mode)
                    seen.set_attributes(attributes)
        return kinds.new_answer(self.outgoing, seen, metric, self._old, self._new)

    def _captured(self, headers: Any, names: Any, normalise: Callable[[str], str]) -> dict[str, Any]:
        return get_custom_header_attributes(headers, names, self._sensitive, normalise)


def _agent(value: Any) -> dict[str, Any]:
    """The attributes of a user agent."""
    text = normalize_user_agent(value)
    kind = detect_synthetic_user_agent(text)
    made: dict[str, Any] = {USER_AGENT_SYNTHETIC_TYPE: kind} if kind else {}
    return {**made, USER_AGENT_ORIGINAL: text} if text else made


_agent_kept: Final = functools.lru_cache(maxsize=64)(_agent)


def make_send(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for upstream's wrapper of `Session.send`."""
    set_up = SetUp(original)
    tracer, wrapped, scopes = set_up.tracer, set_up.wrapped, set_up.scopes

    def instrumented_send(self: Any, request: Any, **kwargs: Any) -> Any:
        begun = set_up.begin(request)
        if begun is NotImplemented:
            return original(self, request, **kwargs)
        if begun is None:
            return wrapped(self, request, **kwargs)
        name, attributes, shape = begun
        opened = scopes.opened(tracer, name, _CLIENT, attributes)
        if opened is None:
            return wrapped(self, request, **kwargs)
        scope, span = opened
        try:
            response = _send(set_up, shape, span, (self, request), kwargs)
        except BaseException as error:
            scopes.closed(scope, error)
            raise
        scopes.closed(scope, None)
        return response

    return instrumented_send


def _send(set_up: SetUp, shape: Any, span: Any, args: tuple[Any, Any], kwargs: Any) -> Any:
    """Send the request inside its span.

    Args:
        set_up: The set-up.
        shape: The `Shape` of the call.
        span: The span.
        args: The session and the request.
        kwargs: The other arguments of `Session.send`.
    """
    outgoing, connecting, request = set_up.outgoing, None, args[1]
    if set_up.has_hooks or outgoing.is_connecting():
        connecting = outgoing.connecting(span)
    try:
        if set_up.request_hook is not None:
            set_up.request_hook(span, request)
        outgoing.propagate(request.headers)
        token = outgoing.suppress(None if connecting is not None else span)
        start = default_timer()
        try:
            try:
                response = set_up.wrapped(*args, **kwargs)
            finally:
                seconds = default_timer() - start
                outgoing.resume(token)
        except Exception as error:
            response = set_up.response_of(error)
            answer = set_up.answered(shape, span, response)
            if set_up.response_hook is not None and response is not None:
                set_up.response_hook(span, request, response)
            set_up.failed(answer, span, error, seconds)
            raise
        answer = set_up.answered(shape, span, response)
        if set_up.response_hook is not None and isinstance(response, Response):
            set_up.response_hook(span, request, response)
        if answer is not None:
            answer.record(seconds)
        return response
    finally:
        outgoing.connected(connecting)
