"""The middleware function for aiohttp.web, in the place of stock's, and the spans and metrics of its requests.

As in `http.servers.environs`, what many requests have in common is made once, by stock's own function. Plain Python;
compiled as `requests_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web
from opentelemetry import propagate
from opentelemetry.context.context import Context
from opentelemetry.instrumentation import aiohttp_server as stock
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_ROUTE, HTTP_TARGET, HTTP_URL
from opentelemetry.semconv.attributes.url_attributes import URL_PATH, URL_QUERY
from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.http.conventions import METHODS, StockFunctions, is_suppressed
from otel_fastpath.http.exclusions import excludes
from otel_fastpath.http.redaction import needs_redaction
from otel_fastpath.http.server import (
    LEFT_TO_STOCK,
    WITHOUT,
    RequestChooser,
    ServerRequest,
    collect_attributes,
    put_captured,
)
from otel_fastpath.http.servers.activations import Activation
from otel_fastpath.http.servers.environs import EnvironShape
from otel_fastpath.http.servers.server_metrics import ApplicationMetrics, RequestLabels, keep_plan, plan_of
from otel_fastpath.http.servers.variables import REQUEST_HEADERS, RESPONSE_HEADERS
from otel_fastpath.http.stock_functions import COLLECTING, STOCK
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.trace.propagation.global_propagator import w3c_reader

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = "the aiohttp.web middleware"
_SERVER = SpanKind.SERVER
_stock_functions = StockFunctions(STOCK["aiohttp_server.request"])
_collecting = StockFunctions(COLLECTING["aiohttp_server"], is_measured=False)
# Before 0.65b0, the function's name was the route, and spans had other names: stock's functions make them.
_HAS_ROUTES = not hasattr(stock, "_get_view_func")
_OF_A_REQUEST = frozenset({HTTP_TARGET, HTTP_URL, URL_PATH})


def make_middleware(twin: Callable[..., Any], *, _tracer: Any) -> Callable[..., Any]:
    """Make the middleware function; the arguments are a copy of stock's, and the variable of that."""

    async def middleware(request: Any, handler: Any) -> Any:
        chosen = _requests.choose(_tracer, request)
        if type(chosen) is AiohttpRequest:
            begun: AiohttpRequest = chosen
            try:
                chosen = begun.try_start(_PLACE)
                if chosen is begun:
                    response = await handler(request)
                    # If it is no response, this raises, as with stock.
                    begun.answer(response, response.status)
                    begun.end(None)
                    return response
            except web.HTTPException as error:
                begun.fail(error, error.status_code)
                raise
            except Exception as error:
                begun.fail(error, -1)
                raise
            finally:
                begun.end(None)
        if chosen is WITHOUT:
            return await handler(request)
        return await twin(request, handler)

    return middleware


class _AiohttpRequests(RequestChooser):
    """Decides how each request is served."""

    __slots__ = ()

    def find(self, tracer: Any, request: Any) -> Any:
        """An `AiohttpRequest`, not begun yet, or how to serve it without."""
        urls = stock._excluded_urls
        if tracer is None or urls is None or not _stock_functions.hold():
            # The instrumentation was not set up, or other code has replaced a function in whose place this stands.
            return LEFT_TO_STOCK
        if is_suppressed() or (excludes(urls) and urls.url_disabled(request.url.path)):
            return WITHOUT
        active, mode = stock.active_requests_counter, stock._sem_conv_opt_in_mode
        old, new = stock.duration_histogram_old, stock.duration_histogram_new
        plan = plan_of(stock, active, old, new, mode)
        if plan is None:
            # The instrumentation's module has its instruments.
            plan = keep_plan(InstrumentationPlan(active, old, new, mode), stock)
        return plan.request(tracer, request)


_requests = _AiohttpRequests(_PLACE)


class InstrumentationPlan(ApplicationMetrics):
    """What is kept for the instrumentation: for its instruments at this time."""

    __slots__ = ("_shapes",)

    def __init__(self, *instruments: Any) -> None:
        ApplicationMetrics.__init__(self, *instruments)
        self._shapes: dict[Any, EnvironShape] = {}

    def request(self, tracer: Any, request: Any) -> AiohttpRequest:
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
            shape = get_item(self._shapes, key) or self._new_shape(key, request, target)
        route = _route(request)
        labels: RequestLabels
        if shape is None:
            attributes = collect_attributes(stock.collect_request_attributes, request, self.mode)
            labels = self.labels(_without_route(attributes))
            name = stock.get_default_span_name(request)
        else:
            attributes = shape.template.copy()
            labels = shape.labels
            self._put(attributes, shape, request, target)
            attributes[HTTP_ROUTE] = route
            if not _HAS_ROUTES:
                name = stock.get_default_span_name(request)
            else:
                name = f"{shape.method} {route}" if route else shape.method
        begun = AiohttpRequest.__new__(AiohttpRequest)
        begun.prepare(self, labels, Activation())
        begun.tracer, begun.request = tracer, request
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
        found = collect_attributes(stock.collect_request_attributes, request, self.mode)
        template = {}
        for name, value in found.items():
            # Per-request values are blanked; only their order is kept.
            template[name] = "" if name in _OF_A_REQUEST else value
            if name == URL_PATH:
                template[URL_QUERY] = ""
        labels = self.labels(_without_route(found))
        shape = EnvironShape(method, labels, template, url[: len(url) - len(target)], has_target=True)
        keep(self._shapes, key, shape)
        return shape


class AiohttpRequest(ServerRequest):
    """A request whose span is the current one.

    Attributes:
        attributes: Those of the span at its start.
        name: The name of the span.
        request: The request, as aiohttp has it.
        tracer: Starts the span.
    """

    __slots__ = ("attributes", "name", "request", "tracer")

    attributes: dict[str, Any]
    name: str
    request: Any
    tracer: Any

    def start(self) -> None:
        """Start the span, and make it the current one."""
        activation, request = self.activation, self.request
        activation.span = self.tracer.start_span(self.name, _parent(request), _SERVER, self.attributes)
        put_captured(activation.span, REQUEST_HEADERS, stock.collect_request_headers_attributes, request)
        activation.activate()
        self.count()

    def answer(self, response: Any, code: Any) -> None:
        """Put a response with this status on the span."""
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
    if not _HAS_ROUTES:
        return stock._get_view_func(request)  # type: ignore[attr-defined]  # older releases have it
    try:
        return request.match_info.route.resource.canonical
    except AttributeError:
        return ""


def _parent(request: Any) -> Context:
    headers = request.headers
    if w3c_reader() is not None and "traceparent" not in headers and "baggage" not in headers:
        return Context()
    return propagate.extract(request, getter=stock.getter)
