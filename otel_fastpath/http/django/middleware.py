"""What `_DjangoMiddleware` does for each request in WSGI's form. Plain Python; compiled as `middleware_c`."""

from __future__ import annotations

from functools import partial
from time import time
from typing import Any

from opentelemetry.instrumentation import propagators
from opentelemetry.instrumentation.django.middleware import otel_middleware
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_TARGET
from opentelemetry.semconv.attributes.http_attributes import HTTP_ROUTE

from otel_fastpath.http.conventions import StockFunctions
from otel_fastpath.http.django.routes import is_refused, is_wsgi, key_of_url, name_of
from otel_fastpath.http.exclusions import Exclusions, excludes
from otel_fastpath.http.server import LEFT_TO_STOCK, WITHOUT, RequestChooser, ServerRequest, put_captured
from otel_fastpath.http.servers.activations import OpenActivation
from otel_fastpath.http.servers.environs import EnvironShapes
from otel_fastpath.http.servers.malformed import is_malformed_environ
from otel_fastpath.http.servers.server_metrics import keep_plan, plan_of
from otel_fastpath.http.servers.variables import REQUEST_HEADERS, RESPONSE_HEADERS, VARIABLES
from otel_fastpath.http.stock_functions import COLLECTING, STOCK
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import inherits

_PLACE = "the Django middleware"
stock: Any = otel_middleware
# One of the methods needs the others.
_beginning = StockFunctions(STOCK["django.process_request"])
_ending = StockFunctions(STOCK["django.process_response"])
_Middleware = stock._DjangoMiddleware
_START_TIME = "opentelemetry-instrumentor-django.starttime_key"
_ACTIVATION = _Middleware._environ_activation_key
_SPAN = _Middleware._environ_span_key
_COUNTED = _Middleware._environ_active_request_attr_key
_TIMED = _Middleware._environ_duration_attr_key
_STARTED = _Middleware._environ_timer_key
_EXCEPTION = _Middleware._environ_exception_key


class DjangoRequest(ServerRequest):
    """A request that the middleware has begun.

    Attributes:
        attributes: Those of the span at its start.
        exception: What the view raised, or None.
        middleware: The middleware.
        name: The name of the span.
        path: The target, as it is in the attributes.
        request: Django's request, until the span has started.
    """

    __slots__ = ("attributes", "exception", "middleware", "name", "path", "request")

    attributes: dict[str, Any]
    exception: BaseException | None
    middleware: Any
    name: str
    path: str | None
    request: Any

    def start(self) -> None:
        """Start the span, and make it the current one."""
        middleware, request, activation, attributes = self.middleware, self.request, self.activation, self.attributes
        environ = request.META
        start_time = environ.get(_START_TIME)
        span = activation.start(middleware._tracer, self.name, environ, attributes, start_time)
        # It will have this one.
        self.request = None
        self.count()
        if span.is_recording():
            _put_more(middleware, request, span, attributes)
        activation.activate()
        # Stock's own methods may run next: Django keeps those that it found when the application was loaded, and this
        # package may be uninstrumented meanwhile.
        timed = self.labels.attributes.copy()
        if self.path:
            timed[HTTP_TARGET] = self.path
        environ[_ACTIVATION], environ[_SPAN] = activation, span
        environ[_TIMED], environ[_COUNTED], environ[_STARTED] = timed, self.labels.counted, self.started

    def is_malformed(self) -> bool:
        """See `ServerRequest`."""
        return self.request is not None and is_malformed_environ(self.request.META)

    def take_route(self, request: Any) -> None:
        """Put the route on the span, and keep it for the metrics."""
        try:
            match = getattr(request, "resolver_match", None)
            route = getattr(match, "route", None) if match else None
            if route:
                self.route = route
                span = self.activation.span
                if span.is_recording():
                    span.set_attribute(HTTP_ROUTE, route)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def answer(self, request: Any, response: Any) -> None:
        """Put the response on the span, record the metrics, and end the span."""
        try:
            environ = request.META
            for key in (_ACTIVATION, _SPAN, _COUNTED, _STARTED):
                environ.pop(key, None)
            timed, exception = environ.pop(_TIMED, None), environ.pop(_EXCEPTION, None)
            # What stock's methods have found out.
            if self.exception is None:
                self.exception = exception
            if self.route is None and timed is not None:
                target = timed.get(HTTP_TARGET)
                self.route = timed.get(HTTP_ROUTE) or (target if target != self.path else None)
            self.target = (self.route if self.has_old else None) or self.path or None
            self._put_response(request, response)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        finally:
            self.end(self.exception)

    def _put_response(self, request: Any, response: Any) -> None:
        span = self.activation.span
        self.put_status(span, str(response.status_code))
        if VARIABLES.get(RESPONSE_HEADERS):
            collect = stock.wsgi_collect_custom_response_headers_attributes
            put_captured(span, RESPONSE_HEADERS, collect, response.items())
        if propagators._RESPONSE_PROPAGATOR:
            propagators._RESPONSE_PROPAGATOR.inject(response)
        if _Middleware._otel_response_hook:
            _call_hook("response_hook", span, request, response)


class DjangoPlan(EnvironShapes):
    """What is kept for one middleware.

    Args:
        middleware: The middleware.
        urls: The excluded URLs.
        instruments: See `ApplicationMetrics`.

    Attributes:
        exclusions: The decisions about URLs.
        names_spans: Whether stock's method names its spans.
    """

    __slots__ = ("exclusions", "names_spans")

    def __init__(self, middleware: Any, urls: Any, *instruments: Any) -> None:
        EnvironShapes.__init__(self, stock, "wsgi_collect_request_attributes", COLLECTING["django"], *instruments)
        self.exclusions = Exclusions(urls)
        self.names_spans = inherits(type(middleware), _Middleware, ("_get_span_name",))


class _DjangoRequests(RequestChooser):
    """Decides how each request is served."""

    __slots__ = ()

    def find(self, middleware: Any, request: Any) -> Any:
        """A `DjangoRequest`, not started yet, or how to serve it without."""
        if not (is_wsgi(request) and _beginning.hold() and _ending.hold()):
            return LEFT_TO_STOCK
        # Stock asks Django, too, and has no telemetry then: anybody may send any host.
        if is_refused(request):
            return WITHOUT
        active, mode = middleware._active_request_counter, middleware._sem_conv_opt_in_mode
        old, new, urls = (
            middleware._duration_histogram_old,
            middleware._duration_histogram_new,
            middleware._excluded_urls,
        )
        plan = plan_of(middleware, active, old, new, mode)
        if plan is None or plan.exclusions.urls is not urls:
            plan = keep_plan(DjangoPlan(middleware, urls, active, old, new, mode), middleware)
        if excludes(urls):
            url = partial(request.build_absolute_uri, "?")
            if plan.exclusions.is_excluded(key_of_url(request), url):
                return WITHOUT
        request._otel_start_time = time()
        shape, attributes = plan.look(request.META)
        begun = DjangoRequest.__new__(DjangoRequest)
        begun.prepare(plan, shape.labels, OpenActivation())
        begun.middleware, begun.request, begun.attributes = middleware, request, attributes
        begun.path, begun.exception = attributes.get(HTTP_TARGET), None
        # Another middleware may have set another method.
        if plan.names_spans and shape.method and shape.method == request.method:
            begun.name = name_of(request, shape.method)
        else:
            begun.name = middleware._get_span_name(request)
        return begun

    def is_malformed(self, request: Any) -> bool:
        """See `RequestChooser`."""
        return is_malformed_environ(getattr(request, "META", None))


_requests = _DjangoRequests(_PLACE)


def process_request(original: Any, middleware: Any, request: Any) -> Any:
    """Begin a request as stock's method does.

    Args:
        original: Stock's method, which handles unusual requests.
        middleware: The middleware.
        request: Django's request.
    """
    begun = _requests.choose(middleware, request)
    if type(begun) is DjangoRequest:
        try:
            begun = begun.try_start(_PLACE)
        except BaseException:
            begun.end(None)
            raise
    if begun is LEFT_TO_STOCK:
        return original(middleware, request)
    request._otel_fastpath = None if begun is WITHOUT else begun
    if begun is not WITHOUT and _Middleware._otel_request_hook:
        _call_hook("request_hook", begun.activation.span, request)
    return None


def process_view(original: Any, middleware: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
    """Take the route of the request."""
    try:
        begun = request._otel_fastpath
    except AttributeError:
        return original(middleware, request, *args, **kwargs)
    if begun:
        begun.take_route(request)
    return None


def process_exception(original: Any, middleware: Any, request: Any, exception: Any) -> Any:
    """Keep what the view raised."""
    try:
        begun = request._otel_fastpath
    except AttributeError:
        return original(middleware, request, exception)
    if begun:
        begun.exception = exception
    return None


def process_response(original: Any, middleware: Any, request: Any, response: Any) -> Any:
    """End a request as stock's method does; the other arguments are those of `process_request`."""
    try:
        begun = request._otel_fastpath
    except AttributeError:
        return original(middleware, request, response)
    try:
        del request._otel_fastpath
        if begun:
            begun.answer(request, response)
    except BaseException:
        if begun:
            begun.activation.leave(begun.exception)
        raise
    return response


def _put_more(middleware: Any, request: Any, span: Any, attributes: dict[str, Any]) -> None:
    """Put captured headers and the attributes of the request that the user asked for on the span."""
    if put_captured(span, REQUEST_HEADERS, stock.wsgi_collect_custom_request_headers_attributes, request.META):
        # They come before the others, as with stock.
        for name, value in attributes.items():
            span.set_attribute(name, value)
    if middleware._traced_request_attrs:
        traced = stock.extract_attributes_from_object(request, middleware._traced_request_attrs)
        for name, value in traced.items():
            span.set_attribute(name, value)


def _call_hook(name: str, *args: Any) -> None:
    """Call a hook of the application's, whose exceptions stock logs."""
    hook = getattr(_Middleware, f"_otel_{name}")
    try:
        hook(*args)
    except Exception as error:
        faults.raise_interruption(error)
        stock._logger.exception("Exception raised by %s", name)
