"""The function that runs for each call, in the place of stock's. Plain Python; compiled as `hooks_c`."""

from __future__ import annotations

from inspect import getclosurevars
from timeit import default_timer
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import urllib3 as stock
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind
from opentelemetry.util.http import (
    get_custom_header_attributes,
    normalise_request_header_name,
    normalise_response_header_name,
)

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http import kinds
from otel_fastpath.http.bounded import LONGEST, MOST_ANSWERS
from otel_fastpath.http.conventions import METHODS, is_suppressed
from otel_fastpath.http.exclusions import search_of
from otel_fastpath.http.outgoing import (
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
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.stock import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGINNING = "the beginning of a call of urllib3"
_END = "the end of a call of urllib3"
_CLIENT = SpanKind.CLIENT
# Other code may replace the functions in whose place these stand.
_STOCK = STOCK["urllib3.urlopen"]
_facts = Facts(UNKNOWN)
_HTTP_1_1 = 11
# The first parameters of `urlopen`, and the place of the headers among them.
_PARAMETERS = ("method", "url", "body", "headers")
_HEADERS = 3


class _Urllib3ResponsePlan:
    """What follows from an answer of one kind.

    Args:
        seen: What stock sets on the span.
        metric: The attributes of the metrics.
        histograms: For the duration, the size of the request and that of the response: the old one and the new one.
    """

    __slots__ = ("attributes", "error", "new", "old", "request_sizes", "response_sizes")

    def __init__(self, seen: kinds.Seen, metric: dict[str, Any], histograms: tuple[tuple[Any, Any], ...]) -> None:
        self.attributes = seen.attributes
        self.error = seen.error
        old, new = kinds.old_attributes(metric), kinds.new_attributes(metric)
        (self.old, self.new), self.request_sizes, self.response_sizes = [
            (one and bind(one, old), other and bind(other, new)) for one, other in histograms
        ]

    def record(self, seconds: float, request_size: int | None, response_size: int | None) -> None:
        """Record a call; a size that is None is not known."""
        if self.old is not None:
            self.old.record(max(round(seconds * 1000), 0))
        if self.new is not None:
            self.new.record(seconds)
        for size, histograms in ((request_size, self.request_sizes), (response_size, self.response_sizes)):
            for histogram in histograms:
                if size is not None and histogram is not None:
                    histogram.record(size)


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """The first arguments of `urlopen`; None if one of them is wrong, which stock's code finds first."""
    given = args[: _HEADERS + 1]
    given += tuple([kwargs.get(name) for name in _PARAMETERS[len(given) :]])
    are_known = issubclass(type(given[0]), str) and type(given[1]) is str
    # Otherwise, one is given twice.
    return given if are_known and kwargs.keys().isdisjoint(_PARAMETERS[: len(args)]) else None


class _PoolShape:
    """What the calls with one method of the pools of one server have in common.

    Attributes:
        answers: The `_Urllib3ResponsePlan` of each status and version.
        attributes: The attributes of the span at its start, without the URL.
        metric: The attributes of the metrics that are known before the answer.
        method: The method.
        server: The beginning of the URL, up to the path.
    """

    __slots__ = ("answers", "attributes", "method", "metric", "server")

    def __init__(self, method: str, server: str, attributes: dict[str, Any], metric: dict[str, Any]) -> None:
        self.method = method
        self.server = server
        self.attributes = attributes
        self.metric = metric
        self.answers: dict[Any, _Urllib3ResponsePlan] = {}


class _Urllib3Call:
    """A prepared call.

    Attributes:
        args: The arguments, with the headers that are sent.
        attributes: The attributes of the span at its start.
        body: The body.
        headers: The headers to send, in which the propagators write.
        info: What stock's hook gets; None if there is none.
        kwargs: As `args`.
        shape: The `_PoolShape`.
    """

    __slots__ = ("args", "attributes", "body", "headers", "info", "kwargs", "shape")
    args: tuple[Any, ...]
    attributes: dict[str, Any]
    body: Any
    headers: Any
    info: Any
    kwargs: dict[str, Any]
    shape: _PoolShape


class Urllib3Instrumentation:
    """One call of stock's `_instrument`.

    Args:
        original: The wrapper with its options, around `HTTPConnectionPool.urlopen`; its closure is read.
    """

    __slots__ = (
        *("_captured_request", "_captured_response", "_excluded", "_has_hooks", "_histograms", "_keys", "_mode"),
        *("_original", "_request_hook", "_response_hook", "_sensitive", "_shapes", "_tracer", "_url_filter"),
    )

    def __init__(self, original: Callable[..., Any]) -> None:
        given = SimpleNamespace(**getclosurevars(original).nonlocals)
        self._original = original
        self._tracer = given.tracer
        self._excluded = search_of(given.excluded_urls)
        self._request_hook = given.request_hook if callable(given.request_hook) else None
        self._response_hook = given.response_hook if callable(given.response_hook) else None
        self._has_hooks = self._request_hook is not None or self._response_hook is not None
        self._histograms = (
            (given.duration_histogram_old, given.duration_histogram_new),
            (given.request_size_histogram_old, given.request_size_histogram_new),
            (given.response_size_histogram_old, given.response_size_histogram_new),
        )
        self._mode = given.sem_conv_opt_in_mode
        self._url_filter = given.url_filter
        self._captured_request = given.captured_request_headers
        self._captured_response = given.captured_response_headers
        self._sensitive = given.sensitive_headers
        self._keys = kinds.url_keys(self._mode)
        self._shapes: dict[Any, _PoolShape] = {}

    def urlopen(self, wrapped: Callable[..., Any], pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call, in the place of stock's wrapper."""
        found = self.begin(pool, args, kwargs)
        if found is NotImplemented:
            return self._original(wrapped, pool, args, kwargs)
        if found is None:
            return wrapped(*args, **kwargs)
        begun: _Urllib3Call = found
        scope = make_scope(self._tracer, begun.shape.method, _CLIENT, begun.attributes)
        if scope is not None:
            try:
                span = enter_scope(scope)
                if span is not None:
                    response = self._open(begun, span, wrapped, pool)
                    exit_scope(scope, None)
                    return response
            except BaseException as error:
                exit_scope(scope, error)
                raise
        return wrapped(*args, **kwargs)

    def _open(self, begun: _Urllib3Call, span: Any, wrapped: Callable[..., Any], pool: Any) -> Any:
        """Run the call inside its span."""
        manager = None
        try:
            if self._has_hooks or is_connecting():
                manager = connecting(span)
            if begun.info is not None:
                self._request_hook(span, pool, begun.info)  # type: ignore[misc]  # without a hook, there is no info
            propagate(begun.headers)
            token = suppress(None if manager is not None else span)
            start = default_timer()
            try:
                response = wrapped(*begun.args, **begun.kwargs)
                seconds = default_timer() - start
            except Exception as error:
                self.record_error(begun.shape, span, error, default_timer() - start)
                raise
            finally:
                resume(token)
            answer = self.record_response(begun.shape, span, response)
            if self._response_hook is not None:
                self._response_hook(span, pool, response)
            self.end(answer, begun, span, response, seconds)
            return response
        finally:
            if manager is not None:
                try:
                    end_connecting(manager)
                finally:
                    # The first may have been interrupted at its beginning.
                    end_connecting(manager)

    def begin(self, pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Prepare a call.

        Returns:
            A `_Urllib3Call`; None if the call is suppressed or its URL excluded; `NotImplemented` if stock's own code
            has to run the call.
        """
        try:
            if not (_facts.hold() or _STOCK.holds_again(_facts)):
                return NotImplemented
            return None if is_suppressed() else self._begin(pool, args, kwargs)
        except Exception as error:
            faults.absorb_any(_BEGINNING, error)
            # What is not ours, such as a sampler, would raise again in stock's code.
            return NotImplemented if faults.ours(error) else None

    def _begin(self, pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _arguments(args, kwargs)
        if given is None:
            return NotImplemented
        method, url, body, headers = given
        shape = self._shape(method.upper(), pool)
        # With what are no headers, stock's code raises the error.
        if shape is None or not (headers is None or hasattr(headers, "keys")):
            return NotImplemented
        if url.startswith("/"):
            url = shape.server + url
        if self._url_filter:
            url = self._url_filter(url)
        if self._excluded is not None and self._excluded(url):
            return None
        begun = _Urllib3Call.__new__(_Urllib3Call)
        begun.shape = shape
        begun.body = body
        begun.headers = headers = {} if headers is None else headers.copy()
        attributes = begun.attributes = shape.attributes.copy()
        shown = redacted(url)
        for key in self._keys:
            attributes[key] = shown
        if self._captured_request:
            attributes.update(self._captured(headers, self._captured_request, normalise_request_header_name))
        begun.info = None
        if self._request_hook is not None:
            begun.info = stock.RequestInfo(method=shape.method, url=url, headers=headers, body=body)
        if len(args) > _HEADERS:
            begun.args, begun.kwargs = (*args[:_HEADERS], headers, *args[_HEADERS + 1 :]), kwargs
        else:
            begun.args, begun.kwargs = args, {**kwargs, "headers": headers}
        return begun

    def _shape(self, method: str, pool: Any) -> _PoolShape | None:
        """The shape of a call; None if the environment says how its method is shown."""
        key = (method, pool.scheme, pool.host, pool.port)
        shape = get_item(self._shapes, key)
        if shape is None and method in METHODS:
            shape = self._new_shape(key)
            if len(str(key[2])) <= LONGEST:
                keep(self._shapes, key, shape)
        return shape

    def _new_shape(self, key: tuple[Any, ...]) -> _PoolShape:
        method, scheme, host, port = key
        attributes: dict[str, Any] = {}
        semconv._set_http_method(attributes, method, method, self._mode)
        metric: dict[str, Any] = {}
        semconv._set_http_host_client(metric, host, self._mode)
        semconv._set_http_scheme(metric, scheme, self._mode)
        semconv._set_http_method(metric, method, method, self._mode)
        semconv._set_http_net_peer_name_client(metric, host, self._mode)
        semconv._set_http_peer_port_client(metric, port, self._mode)
        is_shown = stock._should_append_port(scheme, port)
        return _PoolShape(method, f"{scheme}://{host}:{port}" if is_shown else f"{scheme}://{host}", attributes, metric)

    def record_response(self, shape: _PoolShape, span: Any, response: Any) -> _Urllib3ResponsePlan | None:
        """Set what the response says on the span; return its answer."""
        try:
            status = response.status
            key = (status, response.version)
            is_plain = type(status) is int
            answer = get_item(shape.answers, key) if is_plain else None
            if answer is None:
                answer = self._new_answer(shape, key)
                if is_plain:
                    keep(shape.answers, key, answer, MOST_ANSWERS)
            if span.is_recording():
                span.set_attributes(answer.attributes)
                if answer.error is not None:
                    span.set_status(answer.error)
        except Exception as error:
            faults.absorb_any(_END, error)
            return None
        return answer

    def end(
        self, answer: _Urllib3ResponsePlan | None, begun: _Urllib3Call, span: Any, response: Any, seconds: float
    ) -> None:
        """Record the metrics, and set the captured headers of the response on the span."""
        try:
            if answer is not None:
                try:
                    length = int(response.headers["Content-Length"])
                except (KeyError, ValueError):
                    # A server can send anything.
                    length = 0
                size: Any = stock._get_body_size
                answer.record(seconds, 0 if begun.body is None else size(begun.body), length)
            if self._captured_response and span.is_recording():
                names = self._captured_response
                span.set_attributes(self._captured(response.headers, names, normalise_response_header_name))
        except Exception as error:
            faults.absorb_any(_END, error)

    def record_error(self, shape: _PoolShape, span: Any, error: Exception, seconds: float) -> None:
        """Set the type of an exception on the span, and record the duration, as the conventions have it.

        Stock does neither.
        """
        try:
            kind = type(error).__qualname__
            if semconv._report_new(self._mode) and span.is_recording():
                span.set_attribute(ERROR_TYPE, kind)
            _Urllib3ResponsePlan(kinds.Seen(), {**shape.metric, ERROR_TYPE: kind}, self._histograms).record(
                seconds, None, None
            )
        except Exception as fault:
            faults.absorb_any(_END, fault)

    def _new_answer(self, shape: _PoolShape, key: tuple[Any, ...]) -> _Urllib3ResponsePlan:
        status, version = key
        seen, mode = kinds.Seen(), self._mode
        metric: dict[str, Any] = {}
        set_status: Any = stock._set_status_code_attribute
        set_status(seen, status, metric, mode)
        # In stock's order.
        metric.update(shape.metric)
        if version:
            text = "1.1" if version == _HTTP_1_1 else "1.0"
            semconv._set_http_network_protocol_version(metric, text, mode)
        return _Urllib3ResponsePlan(seen, metric, self._histograms)

    def _captured(self, headers: Any, names: Any, normalise: Callable[[str], str]) -> dict[str, Any]:
        return get_custom_header_attributes(headers, names, self._sensitive, normalise)


def make_urlopen(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for stock's wrapper of `HTTPConnectionPool.urlopen`."""
    return Urllib3Instrumentation(original).urlopen
