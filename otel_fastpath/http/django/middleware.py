"""What `_DjangoMiddleware` does for each request in WSGI's form. Plain Python; compiled as `middleware_c`."""

from __future__ import annotations

from time import time
from typing import Any

from opentelemetry.instrumentation import propagators
from opentelemetry.instrumentation.django.middleware import otel_middleware
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_TARGET
from opentelemetry.semconv.attributes.http_attributes import HTTP_ROUTE

from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.http.conventions import StockFunctions
from otel_fastpath.http.django.routes import is_refused, is_wsgi, key_of_url, name_of
from otel_fastpath.http.exclusions import Exclusions, excludes
from otel_fastpath.http.server import ServerRequest, put_captured, stays_without
from otel_fastpath.http.servers.activations import OpenActivation
from otel_fastpath.http.servers.environs import EnvironShapes
from otel_fastpath.http.servers.server_metrics import ApplicationMetrics
from otel_fastpath.http.servers.variables import REQUEST_HEADERS, RESPONSE_HEADERS, VARIABLES
from otel_fastpath.http.stock_functions import COLLECTING, STOCK
from otel_fastpath.patching import faults

_PLACE = "the Django middleware"
stock: Any = otel_middleware
# One of the methods needs the others.
_beginning = StockFunctions(STOCK["django.process_request"])
_ending = StockFunctions(STOCK["django.process_response"])
_Middleware = stock._DjangoMiddleware
_get_span_name = _Middleware._get_span_name
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
        exception: What the view raised, or None.
        path: The target, as it is in the attributes.
        span: The span.
    """

    __slots__ = ("exception", "path", "span")

    exception: BaseException | None
    path: str | None
    span: Any

    def take_route(self, request: Any) -> None:
        """Put the route on the span, and keep it for the metrics."""
        try:
            match = getattr(request, "resolver_match", None)
            route = getattr(match, "route", None) if match else None
            if route:
                self.route = route
                if self.span.is_recording():
                    self.span.set_attribute(HTTP_ROUTE, route)
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
        span = self.span
        self.put_status(span, str(response.status_code))
        if VARIABLES.get(RESPONSE_HEADERS):
            collect = stock.wsgi_collect_custom_response_headers_attributes
            put_captured(span, RESPONSE_HEADERS, collect, response.items())
        if propagators._RESPONSE_PROPAGATOR:
            propagators._RESPONSE_PROPAGATOR.inject(response)
        if _Middleware._otel_response_hook:
            _call_hook("response_hook", span, request, response)


class Middleware:
    """What the instrumentation has set up, and what follows from that."""

    __slots__ = ("_exclusions", "_shapes")

    def __init__(self) -> None:
        self._exclusions = Exclusions(None)
        self._shapes: EnvironShapes | None = None

    def process_request(self, original: Any, middleware: Any, request: Any) -> Any:
        """Begin a request as stock's method does.

        Args:
            original: Stock's method, which handles unusual requests.
            middleware: The middleware.
            request: Django's request.
        """
        begun: Any = None
        try:
            if is_wsgi(request) and _beginning.hold() and _ending.hold():
                begun = self._begin(middleware, request)
        except Exception as error:
            if stays_without(_PLACE, error):
                begun = False
        if begun is None:
            return original(middleware, request)
        request._otel_fastpath = begun
        if begun and _Middleware._otel_request_hook:
            _call_hook("request_hook", begun.span, request)
        return None

    def _is_excluded(self, urls: Any, request: Any) -> bool:
        exclusions = _exclusions(self)
        if exclusions.urls is not urls:
            exclusions = Exclusions(urls)
            _keep_exclusions(self, exclusions)
        return exclusions.is_excluded(key_of_url(request), lambda: request.build_absolute_uri("?"))

    def _shapes_of(self, middleware: Any) -> EnvironShapes:
        active, mode = middleware._active_request_counter, middleware._sem_conv_opt_in_mode
        old, new = middleware._duration_histogram_old, middleware._duration_histogram_new
        shapes = _shapes(self)
        if shapes is None or not shapes.series.is_of(active, old, new, mode):
            series = ApplicationMetrics(active, old, new, mode)
            shapes = EnvironShapes(stock, "wsgi_collect_request_attributes", COLLECTING["django"], series, mode)
            _keep_shapes(self, shapes)
        return shapes

    def _begin(self, middleware: Any, request: Any) -> Any:
        """The request with its span; False: its host is refused or its URL excluded, or after a fault of ours."""
        # Stock asks Django, too, and has no telemetry then: anybody may send any host.
        if is_refused(request):
            return False
        if excludes(middleware._excluded_urls) and self._is_excluded(middleware._excluded_urls, request):
            return False
        request._otel_start_time = time()
        environ = request.META
        shapes = self._shapes_of(middleware)
        shape, attributes = shapes.look(environ)
        # Another middleware may have set another method.
        is_usual = shape.method and shape.method == request.method
        if is_usual and type(middleware)._get_span_name is _get_span_name:
            name = name_of(request, shape.method)
        else:
            name = middleware._get_span_name(request)
        begun = DjangoRequest.__new__(DjangoRequest)
        begun.prepare(shapes.has_old, shapes.has_new, shapes.series, shape.labels)
        begun.path, begun.exception = attributes.get(HTTP_TARGET), None
        activation = begun.activation = OpenActivation()
        try:
            begun.span = activation.start(middleware._tracer, name, environ, attributes, environ.get(_START_TIME))
            return begun if self._try_activate(begun, middleware, request, attributes) else False
        except BaseException:
            activation.leave(None)
            raise

    def _try_activate(self, begun: DjangoRequest, middleware: Any, request: Any, attributes: Any) -> bool:
        """Make the span the current one; False after a fault of ours, which has ended it. Never raises one."""
        span, activation, is_active = begun.span, begun.activation, False
        try:
            begun.count()
            if span.is_recording():
                _put_more(middleware, request, span, attributes)
            activation.activate()
            # Stock's own methods may run next: Django keeps those that it found when the application was loaded, and
            # this package may be uninstrumented meanwhile.
            environ, labels = request.META, begun.labels
            timed = labels.attributes.copy()
            if begun.path:
                timed[HTTP_TARGET] = begun.path
            environ[_ACTIVATION], environ[_SPAN] = activation, span
            environ[_TIMED], environ[_COUNTED], environ[_STARTED] = timed, labels.counted, begun.started
            is_active = True
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        finally:
            if not is_active:
                begun.uncount()
                activation.leave(None)
        return is_active

    def process_view(self, original: Any, middleware: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the route of the request."""
        try:
            begun = request._otel_fastpath
        except AttributeError:
            return original(middleware, request, *args, **kwargs)
        if begun:
            begun.take_route(request)
        return None

    def process_exception(self, original: Any, middleware: Any, request: Any, exception: Any) -> Any:
        """Keep what the view raised."""
        try:
            begun = request._otel_fastpath
        except AttributeError:
            return original(middleware, request, exception)
        if begun:
            begun.exception = exception
        return None

    def process_response(self, original: Any, middleware: Any, request: Any, response: Any) -> Any:
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


@critical_section
def _exclusions(kept: Middleware) -> Exclusions:
    return kept._exclusions


@critical_section
def _keep_exclusions(kept: Middleware, exclusions: Exclusions) -> None:
    kept._exclusions = exclusions


@critical_section
def _shapes(kept: Middleware) -> EnvironShapes | None:
    return kept._shapes


@critical_section
def _keep_shapes(kept: Middleware, shapes: EnvironShapes) -> None:
    kept._shapes = shapes


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
