"""The spans and metrics of aiohttp.web's requests. Plain Python; compiled as `requests_c`.

As in `http.servers.environs`, what many requests have in common is made once, by stock's own function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web
from opentelemetry import propagate
from opentelemetry.context.context import Context
from opentelemetry.instrumentation import aiohttp_server as stock
from opentelemetry.instrumentation._semconv import _report_new, _report_old
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_ROUTE, HTTP_TARGET, HTTP_URL
from opentelemetry.semconv.attributes.url_attributes import URL_PATH, URL_QUERY
from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.http.conventions import METHODS, StockFunctions, needs_redaction
from otel_fastpath.http.propagators import w3c_reader
from otel_fastpath.http.server import ServerRequest, collected, put_captured
from otel_fastpath.http.servers.activations import Activation
from otel_fastpath.http.servers.environs import EnvironShape
from otel_fastpath.http.servers.server_metrics import ApplicationMetrics, RequestLabels  # noqa: TC001  # C types of the compiled twin
from otel_fastpath.http.servers.variables import REQUEST_HEADERS, RESPONSE_HEADERS
from otel_fastpath.http.stock_functions import COLLECTING
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep

if TYPE_CHECKING:
    from opentelemetry.instrumentation._semconv import _StabilityMode

_PLACE = "the aiohttp.web middleware"
_SERVER = SpanKind.SERVER
_collecting = StockFunctions(COLLECTING["aiohttp_server"])
_OF_A_REQUEST = frozenset({HTTP_TARGET, HTTP_URL, URL_PATH})


class Requests:
    """What the instrumentation has set up, and what follows from that.

    Args:
        series: The metrics.
        mode: The conventions that are reported.
    """

    __slots__ = ("_kept", "_mode", "has_new", "has_old", "series")

    def __init__(self, series: ApplicationMetrics, mode: _StabilityMode) -> None:
        self.series = series
        self._mode = mode
        self.has_old = _report_old(mode)
        self.has_new = _report_new(mode)
        self._kept: dict[Any, EnvironShape] = {}

    def make_request(self, request: Any) -> AiohttpRequest:
        """The request, not begun yet."""
        target = request.path_qs
        agent = request.headers.get("User-Agent")
        key = (request.method, request.scheme, request.host, agent, request.version)
        shape = None
        # Any other target is not simply put behind the host; a whole URL as the target has a host of its own.
        if (
            _collecting.hold()
            and target[:1] == "/"
            and target[:2] != "//"
            and "/." not in target
            and request.raw_path[:1] == "/"
            and not needs_look(target)
        ):
            shape = get_item(self._kept, key) or self._new_shape(key, request, target)
        route = _route(request)
        labels: RequestLabels
        if shape is None:
            attributes = collected(stock.collect_request_attributes, request, self._mode)
            labels = self.series.labels(_without_route(attributes))
            name = stock.get_default_span_name(request)
        else:
            attributes = shape.template.copy()
            labels = shape.labels
            self._put(attributes, shape, request, target)
            attributes[HTTP_ROUTE] = route
            name = f"{shape.method} {route}" if route else shape.method
        begun = AiohttpRequest.__new__(AiohttpRequest)
        begun.prepare(self.has_old, self.has_new, self.series, labels)
        begun.activation = Activation()
        begun.name, begun.attributes = name, attributes
        begun.route = route if self.has_new else None
        return begun

    def _put(self, attributes: dict[str, Any], shape: EnvironShape, request: Any, target: str) -> None:
        if self.has_old:
            attributes[HTTP_TARGET] = target
            attributes[HTTP_URL] = shape.prefix + target
        if self.has_new:
            attributes[URL_PATH] = request.path
            query = target.partition("?")[2]
            if query:
                attributes[URL_QUERY] = query
            else:
                del attributes[URL_QUERY]

    def _new_shape(self, key: tuple[Any, ...], request: Any, target: str) -> EnvironShape | None:
        method, scheme, host, agent, _ = key
        texts = [text for text in (method, scheme, host, agent) if text is not None]
        # Of other methods, an environment variable decides.
        if method not in METHODS or set(map(type, texts)) != {str} or sum(map(len, texts)) > LONGEST:
            return None
        url = str(request.url)
        if not url.endswith(target) or needs_look(url):
            return None
        found = collected(stock.collect_request_attributes, request, self._mode)
        template = {}
        for name, value in found.items():
            # Per-request values are blanked; only their order is kept.
            template[name] = "" if name in _OF_A_REQUEST else value
            if name == URL_PATH:
                template[URL_QUERY] = ""
        labels = self.series.labels(_without_route(found))
        shape = EnvironShape(method, labels, template, url[: len(url) - len(target)], has_target=True)
        keep(self._kept, key, shape)
        return shape


class AiohttpRequest(ServerRequest):
    """A request whose span is the current one.

    Attributes:
        attributes: Those of the span at its start.
        name: The name of the span.
    """

    __slots__ = ("attributes", "name")

    attributes: dict[str, Any]
    name: str

    def start(self, tracer: Any, request: Any) -> None:
        """Start the span, and make it the current one; after an error, the request has no telemetry."""
        activation = self.activation
        try:
            activation.span = tracer.start_span(self.name, _parent(request), _SERVER, self.attributes)
            put_captured(activation.span, REQUEST_HEADERS, stock.collect_request_headers_attributes, request)
            activation.activate()
            self.count()
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            self.uncount()
            activation.leave(None)

    def answer(self, response: Any, code: Any) -> None:
        """Put a response with this status on the span."""
        if not self.is_counted:
            return
        try:
            span = self.activation.span
            self.put(span, code, str(code))
            put_captured(span, RESPONSE_HEADERS, stock.collect_response_headers_attributes, response)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def fail(self, error: Exception, code: Any) -> None:
        """Put an exception that is a response with this status, or none (a negative status), on the span."""
        if not self.is_counted:
            return
        try:
            span = self.activation.span
            self.put(span, code, type(error).__qualname__ if code < 0 else str(code))
            if code < 0 or isinstance(error, web.HTTPServerError):
                span.record_exception(error)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)


def _without_route(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes but for the route, which the metrics have from the request."""
    return {name: value for name, value in attributes.items() if name != HTTP_ROUTE}


def needs_look(target: str) -> bool:
    """Whether a target has a fragment, or something to redact."""
    return "#" in target or needs_redaction(target)


def _route(request: Any) -> Any:
    try:
        return request.match_info.route.resource.canonical
    except AttributeError:
        return ""


def _parent(request: Any) -> Context:
    headers = request.headers
    if w3c_reader() is not None and "traceparent" not in headers and "baggage" not in headers:
        return Context()
    return propagate.extract(request, getter=stock.getter)
