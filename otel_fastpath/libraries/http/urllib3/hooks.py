"""The function that runs for each call, in the place of upstream's."""

from __future__ import annotations

from inspect import getclosurevars
from timeit import default_timer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import urllib3 as upstream
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind
from opentelemetry.util.http import (
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
)

from otel_fastpath import compiled
from otel_fastpath.libraries.http import kinds
from otel_fastpath.libraries.http.bounded import keep
from otel_fastpath.libraries.http.conventions import METHODS
from otel_fastpath.libraries.http.exclusions import search_of
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING: Final = "the beginning of a call of urllib3"
_END: Final = "the end of a call of urllib3"
_CLIENT: Final = SpanKind.CLIENT
_HTTP_1_1: Final = 11
# The place of the headers among the arguments of `urlopen`.
_HEADERS: Final = 3


class _Answer:
    """What follows from an answer of one kind.

    Args:
        seen: What upstream sets on the span.
        metric: The attributes of the metrics.
        histograms: For the duration, the size of the request and that of the response: the old one and the new one.
    """

    __slots__ = ("attributes", "error", "new", "old", "request_sizes", "response_sizes")

    def __init__(self, seen: kinds.Seen, metric: dict[str, Any], histograms: tuple[tuple[Any, Any], ...]) -> None:
        self.attributes = seen.attributes
        self.error = seen.error
        old, new = kinds.old_attributes(metric), kinds.new_attributes(metric)
        bound = [(one and bind(one, old), other and bind(other, new)) for one, other in histograms]
        (self.old, self.new), *sizes = bound
        self.request_sizes, self.response_sizes = ([each for each in pair if each is not None] for pair in sizes)

    def record(self, seconds: float, request_size: int | None, response_size: int | None) -> None:
        """Record a call; a size that is None is not known."""
        if self.old is not None:
            self.old.record(max(round(seconds * 1000), 0))
        if self.new is not None:
            self.new.record(seconds)
        if request_size is not None:
            for histogram in self.request_sizes:
                histogram.record(request_size)
        if response_size is not None:
            for histogram in self.response_sizes:
                histogram.record(response_size)


def _arguments(method: Any, url: Any, body: Any = None, headers: Any = None, *_more: Any, **_further: Any) -> Any:
    """The first arguments of `urlopen`."""
    return method, url, body, headers


class _Begun(NamedTuple):
    """A prepared call.

    Attributes:
        method: The method.
        body: The body.
        headers: The headers to send, in which the propagators write.
        attributes: The attributes of the span at its start.
        info: What upstream's hook gets; None if there is none.
        args: The arguments, with these headers.
        kwargs: Likewise.
    """

    method: str
    body: Any
    headers: Any
    attributes: dict[str, Any]
    info: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class SetUp:
    """One call of upstream's `_instrument`.

    Args:
        original: The wrapper with its options, around `HTTPConnectionPool.urlopen`; its closure is read.
    """

    def __init__(self, original: Callable[..., Any]) -> None:
        given = SimpleNamespace(**getclosurevars(original).nonlocals)
        self.given = given
        self._excluded = search_of(given.excluded_urls)
        hooks = given.request_hook, given.response_hook
        self.request_hook, self.response_hook = (hook if callable(hook) else None for hook in hooks)
        self.has_hooks = any(callable(hook) for hook in hooks)
        self._histograms = (
            (given.duration_histogram_old, given.duration_histogram_new),
            (given.request_size_histogram_old, given.request_size_histogram_new),
            (given.response_size_histogram_old, given.response_size_histogram_new),
        )
        self._mode = given.sem_conv_opt_in_mode
        self._answers: dict[Any, _Answer] = {}
        # Only those in `METHODS`.
        self._methods: dict[str, dict[str, Any]] = {}
        self._keys = kinds.url_keys(self._mode)
        self.outgoing = compiled.hot("libraries.http.outgoing")
        self.scopes = compiled.hot("libraries.http.scopes")
        self._is_suppressed = compiled.hot("libraries.http.conventions").is_suppressed

    def begin(self, pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Prepare a call.

        Returns:
            A `_Begun`; None if the call is suppressed or its URL excluded; `NotImplemented` if upstream's own code has
            to run the call.
        """
        try:
            return None if self._is_suppressed() else self._begin(pool, args, kwargs)
        except Exception as error:
            faults.report(_BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in upstream's code.
            return NotImplemented if faults.ours(error) else None

    def _begin(self, pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            method, url, body, headers = _arguments(*args, **kwargs)
        except TypeError:
            return NotImplemented
        method = method.upper()
        if method not in METHODS or type(url) is not str:
            return NotImplemented
        url = self._url(pool, url)
        if self._excluded is not None and self._excluded(url):
            return None
        headers = {} if headers is None else headers.copy()
        attributes = self._of_method(method).copy()
        shown = self.outgoing.redacted(url)
        for key in self._keys:
            attributes[key] = shown
        names = self.given.captured_request_headers
        if names:
            attributes.update(self._captured(headers, names, normalise_request_header_name))
        info = None
        if self.request_hook is not None:
            info = upstream.RequestInfo(method=method, url=url, headers=headers, body=body)
        if len(args) > _HEADERS:
            return _Begun(
                method, body, headers, attributes, info, (*args[:_HEADERS], headers, *args[_HEADERS + 1 :]), kwargs
            )
        return _Begun(method, body, headers, attributes, info, args, {**kwargs, "headers": headers})

    def _of_method(self, method: str) -> dict[str, Any]:
        """The attributes of spans with this method."""
        made = self._methods.get(method)
        if made is None:
            made = {}
            semconv._set_http_method(made, method, method, self._mode)
            self._methods[method] = made
        return made

    def _url(self, pool: Any, url: str) -> str:
        if url.startswith("/"):
            port = pool.port
            is_shown = upstream._should_append_port(pool.scheme, port)
            url = f"{pool.scheme}://{pool.host}:{port}{url}" if is_shown else f"{pool.scheme}://{pool.host}{url}"
        return self.given.url_filter(url) if self.given.url_filter else url

    def answered(self, method: str, pool: Any, span: Any, response: Any) -> _Answer | None:
        """Set what the response says on the span; return its answer."""
        try:
            key = (method, pool.scheme, pool.host, pool.port, response.status, response.version)
            is_plain = type(key[4]) is int
            answer = self._answers.get(key) if is_plain else None
            if answer is None:
                answer = self._new_answer(key)
                if is_plain:
                    keep(self._answers, key, answer)
            if span.is_recording():
                span.set_attributes(answer.attributes)
                if answer.error is not None:
                    span.set_status(answer.error)
        except Exception as error:
            faults.report(_END, error)
            return None
        return answer

    def end(self, answer: _Answer | None, begun: _Begun, span: Any, response: Any, seconds: float) -> None:
        """Record the metrics, and set the captured headers of the response on the span."""
        try:
            if answer is not None:
                size: Any = upstream._get_body_size
                try:
                    length = response.headers["Content-Length"]
                except KeyError:
                    length = 0
                answer.record(seconds, size(begun.body), int(length))
            names = self.given.captured_response_headers
            if names and span.is_recording():
                span.set_attributes(self._captured(response.headers, names, normalise_response_header_name))
        except Exception as error:
            faults.report(_END, error)

    def failed(self, method: str, pool: Any, span: Any, error: Exception, seconds: float) -> None:
        """Set the type of an exception on the span, and record the duration, as the conventions have it.

        Upstream does neither.
        """
        try:
            kind = type(error).__qualname__
            if semconv._report_new(self._mode) and span.is_recording():
                span.set_attribute(ERROR_TYPE, kind)
            metric = {**self._of_call(method, pool.scheme, pool.host, pool.port), ERROR_TYPE: kind}
            _Answer(kinds.Seen(), metric, self._histograms).record(seconds, None, None)
        except Exception as fault:
            faults.report(_END, fault)

    def _new_answer(self, key: tuple[Any, ...]) -> _Answer:
        method, scheme, host, port, status, version = key
        seen, mode = kinds.Seen(), self._mode
        metric: dict[str, Any] = {}
        set_status: Any = upstream._set_status_code_attribute
        set_status(seen, status, metric, mode)
        # In upstream's order.
        metric.update(self._of_call(method, scheme, host, port))
        if version:
            text = "1.1" if version == _HTTP_1_1 else "1.0"
            semconv._set_http_network_protocol_version(metric, text, mode)
        return _Answer(seen, metric, self._histograms)

    def _of_call(self, method: str, scheme: Any, host: Any, port: Any) -> dict[str, Any]:
        """The attributes of a call's metrics that are known before the answer."""
        made: dict[str, Any] = {}
        semconv._set_http_host_client(made, host, self._mode)
        semconv._set_http_scheme(made, scheme, self._mode)
        semconv._set_http_method(made, method, method, self._mode)
        semconv._set_http_net_peer_name_client(made, host, self._mode)
        semconv._set_http_peer_port_client(made, port, self._mode)
        return made

    def _captured(self, headers: Any, names: Any, normalise: Callable[[str], str]) -> dict[str, Any]:
        return get_custom_header_attributes(headers, names, self.given.sensitive_headers, normalise)


def make_urlopen(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for upstream's wrapper of `HTTPConnectionPool.urlopen`."""
    set_up = SetUp(original)
    tracer, scopes = set_up.given.tracer, set_up.scopes

    def instrumented_urlopen(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        begun = set_up.begin(instance, args, kwargs)
        if begun is NotImplemented:
            return original(wrapped, instance, args, kwargs)
        if begun is None:
            return wrapped(*args, **kwargs)
        opened = scopes.opened(tracer, begun.method, _CLIENT, begun.attributes)
        if opened is None:
            return wrapped(*args, **kwargs)
        scope, span = opened
        try:
            response = _open(set_up, begun, span, wrapped, instance)
        except BaseException as error:
            scopes.closed(scope, error)
            raise
        scopes.closed(scope, None)
        return response

    return instrumented_urlopen


def _open(set_up: SetUp, begun: _Begun, span: Any, wrapped: Callable[..., Any], pool: Any) -> Any:
    """Run the call inside its span."""
    outgoing, connecting = set_up.outgoing, None
    if set_up.has_hooks or outgoing.is_connecting():
        connecting = outgoing.connecting(span)
    try:
        if begun.info is not None:
            set_up.request_hook(span, pool, begun.info)  # type: ignore[misc]  # without a hook, there is no info
        outgoing.propagate(begun.headers)
        token = outgoing.suppress(None if connecting is not None else span)
        start = default_timer()
        try:
            response = wrapped(*begun.args, **begun.kwargs)
            seconds = default_timer() - start
        except Exception as error:
            set_up.failed(begun.method, pool, span, error, default_timer() - start)
            raise
        finally:
            outgoing.resume(token)
        answer = set_up.answered(begun.method, pool, span, response)
        if set_up.response_hook is not None:
            set_up.response_hook(span, pool, response)
        set_up.end(answer, begun, span, response, seconds)
        return response
    finally:
        outgoing.connected(connecting)
