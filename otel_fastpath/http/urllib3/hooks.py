"""The function that runs for each call, in the place of stock's. Plain Python; compiled as `hooks_c`."""

from __future__ import annotations

from inspect import getclosurevars
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import _semconv as semconv
from opentelemetry.instrumentation import urllib3 as stock

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.http.client import ClientInstrumentation
from otel_fastpath.http.clients import kinds
from otel_fastpath.http.clients.outgoing import CallShape, ClientCall, ResponsePlan, redact
from otel_fastpath.http.conventions import METHODS
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep

if TYPE_CHECKING:
    from collections.abc import Callable

_END = "the end of a call of urllib3"
_HTTP_1_1 = 11
# The first parameters of `urlopen`, and the place of the headers among them.
_PARAMETERS = ("method", "url", "body", "headers")
_HEADERS = 3


class _Urllib3ResponsePlan(ResponsePlan):
    """One that also records the sizes of the request and of the response.

    Args:
        seen: What stock sets on the span.
        metric: The attributes of the metrics.
        histograms: For the duration, the size of the request and that of the response: the old one and the new one.
    """

    __slots__ = ("_request_sizes", "_response_sizes")

    def __init__(self, seen: kinds.Seen, metric: dict[str, Any], *histograms: tuple[Any, Any]) -> None:
        attributes = kinds.old_attributes(metric), kinds.new_attributes(metric)
        durations, self._request_sizes, self._response_sizes = [
            tuple([each and bind(each, of) for each, of in zip(both, attributes, strict=True)]) for both in histograms
        ]
        super().__init__(seen.attributes, seen.error, metric, *durations)

    def measure(self, seconds: float, request_size: int | None, response_size: int) -> None:
        """Record a call; a size that is None is not known."""
        self.record(seconds)
        for size, histograms in ((request_size, self._request_sizes), (response_size, self._response_sizes)):
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


class _PoolShape(CallShape):
    """What the calls with one method of the pools of one server have in common.

    Attributes:
        server: The beginning of the URL, up to the path.
    """

    __slots__ = ("server",)

    server: str


class Urllib3Instrumentation(ClientInstrumentation):
    """One call of stock's `_instrument`.

    Args:
        original: The wrapper with its options, around `HTTPConnectionPool.urlopen`; its closure is read.
    """

    __slots__ = ("_original", "_pool_shapes", "_sizes", "_url_filter")

    def __init__(self, original: Callable[..., Any]) -> None:
        given = getclosurevars(original).nonlocals
        super().__init__("opentelemetry.instrumentation.urllib3:_instrument", given)
        self.is_suppressing = True
        self._original = original
        self._sizes = [
            (given[f"{name}_size_histogram_old"], given[f"{name}_size_histogram_new"])
            for name in ("request", "response")
        ]
        self._url_filter = given["url_filter"]
        self._pool_shapes: dict[Any, _PoolShape] = {}

    def urlopen(self, wrapped: Callable[..., Any], pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call, in the place of stock's wrapper."""
        begun = self.begin(pool, args, kwargs)
        if begun is NotImplemented:
            return self._original(wrapped, pool, args, kwargs)
        return self.call(begun, wrapped, args, kwargs)

    def prepare(self, subject: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See `ClientInstrumentation`."""
        given = _arguments(args, kwargs)
        if given is None:
            return NotImplemented
        method, url, body, headers = given
        shape = self._pool_shape(method.upper(), subject)
        # With what are no headers, stock's code raises the error.
        if shape is None or not (headers is None or hasattr(headers, "keys")):
            return NotImplemented
        if url.startswith("/"):
            url = shape.server + url
        if self._url_filter:
            url = self._url_filter(url)
        if self.excluded is not None and self.excluded(url):
            return None
        headers = {} if headers is None else headers.copy()
        if len(args) > _HEADERS:
            args = (*args[:_HEADERS], headers, *args[_HEADERS + 1 :])
        else:
            kwargs = {**kwargs, "headers": headers}
        begun: ClientCall = self.new_call(shape, args, kwargs)
        begun.attributes = self.shapes.attributes(shape, redact(url), self.captured_of_request(headers))
        begun.headers, begun.body, begun.hooked = headers, body, (subject,)
        if self.request_hook is not None:
            begun.hooked = subject, stock.RequestInfo(method=shape.name, url=url, headers=headers, body=body)
        return begun

    def _pool_shape(self, method: str, pool: Any) -> _PoolShape | None:
        """The shape of a call; None if the environment says how its method is shown."""
        key = (method, pool.scheme, pool.host, pool.port)
        shape = get_item(self._pool_shapes, key)
        if shape is None and method in METHODS:
            shape = self._new_pool_shape(key)
            if len(str(key[2])) <= LONGEST:
                keep(self._pool_shapes, key, shape)
        return shape

    def _new_pool_shape(self, key: tuple[Any, ...]) -> _PoolShape:
        method, scheme, host, port = key
        attributes: dict[str, Any] = {}
        metric: dict[str, Any] = {}
        semconv._set_http_method(attributes, method, method, self.mode)
        # Its place in the order.
        semconv._set_http_url(attributes, "-", self.mode)
        semconv._set_http_host_client(metric, host, self.mode)
        semconv._set_http_scheme(metric, scheme, self.mode)
        semconv._set_http_method(metric, method, method, self.mode)
        semconv._set_http_net_peer_name_client(metric, host, self.mode)
        semconv._set_http_peer_port_client(metric, port, self.mode)
        shape = _PoolShape(method, attributes, len(attributes), metric)
        is_shown = stock._should_append_port(scheme, port)
        shape.server = f"{scheme}://{host}:{port}" if is_shown else f"{scheme}://{host}"
        return shape

    def key_of(self, response: Any) -> Any:
        """Status and version of a response."""
        return (response.status, response.version) if type(response.status) is int else None

    def response_of(self, error: Exception) -> Any:  # noqa: ARG002  # of the skeleton
        """An exception has none."""
        return None

    def attributes_of(self, answer: ResponsePlan, response: Any) -> dict[str, Any]:  # noqa: ARG002  # likewise
        """Those of captured headers come after the hook."""
        return answer.attributes

    def measure(self, begun: ClientCall, response: Any, seconds: float) -> None:
        """Record the metrics, and set the captured headers of the response on the span."""
        try:
            answer: Any = begun.answer
            if answer is not None:
                try:
                    length = int(response.headers["Content-Length"])
                except (KeyError, ValueError):
                    # A server can send anything.
                    length = 0
                size: Any = stock._get_body_size
                answer.measure(seconds, 0 if begun.body is None else size(begun.body), length)
            captured = self.captured_of(response)
            if captured is not None and begun.span.is_recording():
                begun.span.set_attributes(captured)
        except Exception as error:
            faults.absorb_any(_END, error)

    def new_answer(self, begun: ClientCall, response: Any) -> ResponsePlan:
        """See `ClientInstrumentation`. The metrics have stock's order."""
        seen, mode = kinds.Seen(), self.mode
        metric: dict[str, Any] = {}
        set_status: Any = stock._set_status_code_attribute
        set_status(seen, response.status, metric, mode)
        metric.update(begun.shape.metric)
        if response.version:
            text = "1.1" if response.version == _HTTP_1_1 else "1.0"
            semconv._set_http_network_protocol_version(metric, text, mode)
        return _Urllib3ResponsePlan(seen, metric, (self.old, self.new), *self._sizes)


def make_urlopen(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for stock's wrapper of `HTTPConnectionPool.urlopen`."""
    return Urllib3Instrumentation(original).urlopen
