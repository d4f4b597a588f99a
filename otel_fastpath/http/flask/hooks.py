"""What runs for each request of an instrumented Flask application. Plain Python; compiled as `hooks_c`."""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING, Any

import flask
from opentelemetry import trace
from opentelemetry.instrumentation import flask as stock
from opentelemetry.instrumentation import propagators
from opentelemetry.instrumentation import wsgi as otel_wsgi
from opentelemetry.semconv._incubating.attributes.http_attributes import HTTP_ROUTE

from otel_fastpath.http.conventions import StockFunctions
from otel_fastpath.http.exclusions import Exclusions, excludes
from otel_fastpath.http.server import LEFT_TO_STOCK, WITHOUT, RequestChooser, ServerRequest, put_captured, serve_instead
from otel_fastpath.http.servers.activations import Activation, OpenActivation
from otel_fastpath.http.servers.environs import EnvironShapes, name_span
from otel_fastpath.http.servers.malformed import is_malformed_environ
from otel_fastpath.http.servers.variables import REQUEST_HEADERS, RESPONSE_HEADERS
from otel_fastpath.http.stock_functions import COLLECTING, STOCK
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

_PLACE = "the Flask instrumentation"
_START_TIME = stock._ENVIRON_STARTTIME_KEY
_SPAN = stock._ENVIRON_SPAN_KEY
_ACTIVATION = stock._ENVIRON_ACTIVATION_KEY
_CONTEXT = stock._ENVIRON_REQCTX_REF_KEY
_TOKEN = stock._ENVIRON_TOKEN
_COMMENTS = "SQLCOMMENTER_ORM_TAGS_AND_VALUES"
# Other code may replace the functions in whose place these stand.
_request = StockFunctions(STOCK["flask.request"])
_before = StockFunctions(STOCK["flask.before_request"])
# What the URL of a request follows from, if no proxy is trusted.
_OF_URL = ("wsgi.url_scheme", "HTTP_HOST", "SERVER_NAME", "SERVER_PORT", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING")


def _current_request() -> Any:
    """The current request; None outside of one."""
    try:
        return flask.request._get_current_object()  # type: ignore[attr-defined]  # of the proxy
    except RuntimeError as error:
        faults.raise_interruption(error)
        return None


def _is_excluded(exclusions: Exclusions, request: Any) -> bool:
    key = None
    if type(request) is flask.Request and not request.trusted_hosts:
        key = tuple([request.environ.get(name) for name in _OF_URL])
    return exclusions.is_excluded(key, lambda: request.url)


def _shapes(*instruments: Any) -> EnvironShapes:
    return EnvironShapes(otel_wsgi, "collect_request_attributes", COLLECTING["flask"], *instruments)


class App(RequestChooser):
    """In the place of the function `_wrapped_app` of an application; its arguments are the variables of that function.

    Args:
        twin: Stock's function, for unusual requests.
    """

    __slots__ = ("_shapes", "_twin", "exclusions", "response_hook", "wsgi_app")

    def __init__(
        self,
        twin: Callable[..., Any],
        *,
        wsgi_app: Any,
        active_requests_counter: Any,
        duration_histogram_old: Any,
        duration_histogram_new: Any,
        excluded_urls: Any,
        response_hook: Any,
        sem_conv_opt_in_mode: Any,
        **_others: Any,
    ) -> None:
        RequestChooser.__init__(self, _PLACE)
        self._twin = twin
        self.wsgi_app = wsgi_app
        instruments = active_requests_counter, duration_histogram_old, duration_histogram_new
        self._shapes = _shapes(*instruments, sem_conv_opt_in_mode)
        self.exclusions = Exclusions(excluded_urls) if excludes(excluded_urls) else None
        self.response_hook = response_hook

    def __call__(self, environ: Any, start_response: Any) -> Any:
        """Serve a request."""
        chosen = self.choose(None, environ)
        if type(chosen) is FlaskRequest:
            request = chosen
            request.start_response = start_response
            return request.serve()
        return self.wsgi_app(environ, start_response) if chosen is WITHOUT else self._twin(environ, start_response)

    def find(self, _server: Any, environ: Any) -> Any:
        """A `FlaskRequest`, or `LEFT_TO_STOCK`."""
        if type(environ) is not dict or not _request.hold():
            return LEFT_TO_STOCK
        request = FlaskRequest.__new__(FlaskRequest)
        request.prepare(self._shapes, self._shapes.labels_of(environ), None)
        request.app, request.environ, request.is_traced = self, environ, True
        return request

    def is_malformed(self, request: Any) -> bool:
        """See `RequestChooser`."""
        return is_malformed_environ(request)


class FlaskRequest(ServerRequest):
    """A request to an instrumented application. Its span begins and ends in other functions.

    Attributes:
        app: The application.
        environ: The environ.
        is_traced: Whether the duration is recorded.
        start_response: The server's function.
    """

    __slots__ = ("app", "environ", "is_traced", "start_response")

    app: App
    environ: dict[str, Any]
    is_traced: bool
    start_response: Any

    def serve(self) -> Any:
        """Call the application."""
        self.environ[_START_TIME] = time_ns()
        self.count()
        try:
            result = self.app.wsgi_app(self.environ, self.respond)
            if self.is_traced:
                self.measure()
            return result
        finally:
            self.uncount()

    def record(self, seconds: float) -> None:
        """Record the duration."""
        # Other code may replace this function, as stock's tests do.
        context = trace.set_span_in_context(self.environ.get(_SPAN))  # type: ignore[arg-type]  # as stock
        self.series.record(self.labels, seconds, context, self.code, self.error, self.route, self.route)

    def respond(self, status: str, response_headers: list[tuple[str, str]], *args: Any, **kwargs: Any) -> Any:
        """The application's `start_response`."""
        span = self.answer(status, response_headers)
        hook = self.app.response_hook
        if self.is_traced and hook is not None:
            hook(span, status, response_headers)
        return self.start_response(status, response_headers, *args, **kwargs)

    def answer(self, status: str, response_headers: list[tuple[str, str]]) -> Any:
        """Put the response on the span, unless the URL is excluded; returns the span."""
        span = None
        # After a fault it is not known whether the URL is excluded.
        self.is_traced = False
        try:
            request = _current_request()
            exclusions = self.app.exclusions
            self.is_traced = request is not None and (exclusions is None or not _is_excluded(exclusions, request))
            if self.is_traced:
                span = request.environ.get(_SPAN)
                self._put_response(request, span, status, response_headers)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        return span

    def _put_response(self, request: Any, span: Any, status: str, response_headers: list[tuple[str, str]]) -> None:
        rule = request.url_rule
        self.route = rule.rule if rule else None
        propagator = propagators._RESPONSE_PROPAGATOR
        if propagator:
            propagator.inject(response_headers, setter=otel_wsgi.default_response_propagation_setter)
        if span:
            self.put_status(span, status)
            put_captured(span, RESPONSE_HEADERS, otel_wsgi.collect_custom_response_headers_attributes, response_headers)
        else:
            stock._logger.warning("Flask environ's OpenTelemetry span missing at _start_response(%s)", status)


class BeforeRequest:
    """In the place of the function `_before_request` of an application; see `App`."""

    __slots__ = ("_comments", "_exclusions", "_hook", "_options", "_shapes", "_tracer", "_twin")

    def __init__(
        self,
        twin: Callable[..., Any],
        *,
        tracer: Any,
        request_hook: Any,
        excluded_urls: Any,
        enable_commenter: Any,
        commenter_options: Any,
        sem_conv_opt_in_mode: Any,
    ) -> None:
        self._twin = twin
        self._tracer = tracer
        self._hook = request_hook
        self._exclusions = Exclusions(excluded_urls) if excludes(excluded_urls) else None
        self._comments = enable_commenter
        self._options = commenter_options
        self._shapes = _shapes(None, None, None, sem_conv_opt_in_mode)

    def __call__(self) -> Any:
        """Begin the span, once the route of the request is known."""
        request = attributes = None
        activation = OpenActivation()
        try:
            if not _before.hold():
                return self._twin()
            request = flask.request._get_current_object()  # type: ignore[attr-defined]  # of the proxy
            if self._exclusions is not None and _is_excluded(self._exclusions, request):
                return None
            if type(request.environ) is dict:
                attributes = self._start_span(request, request.environ, activation)
        except BaseException as error:
            activation.leave(None)
            malformed = request is not None and is_malformed_environ(request.environ)
            if serve_instead(_PLACE, error, malformed) is WITHOUT:
                return None
        if attributes is None:
            return self._twin()
        try:
            environ = request.environ  # type: ignore[union-attr]  # otherwise, nothing has begun
            if self._hook:
                self._hook(activation.span, environ)
            self._put_request_headers(activation.span, environ, attributes)
            self._activate(request, environ, activation)
        except BaseException:
            activation.leave(None)
            raise
        return None

    def _put_request_headers(self, span: Any, environ: dict[str, Any], attributes: dict[str, Any]) -> None:
        """Put captured headers on the span."""
        try:
            # The hook may have set others.
            if self._hook and span.is_recording():
                for name, value in attributes.items():
                    span.set_attribute(name, value)
            put_captured(span, REQUEST_HEADERS, otel_wsgi.collect_custom_request_headers_attributes, environ)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def _activate(self, request: Any, environ: dict[str, Any], activation: Activation) -> None:
        """Make the span the current one until `Teardown`."""
        try:
            reference = stock._request_ctx_ref()
            if self._comments:
                activation.activate(_COMMENTS, self._commented(request))
            else:
                activation.activate()
        except Exception as error:
            activation.leave(None)
            faults.absorb_any(_PLACE, error)
            return
        environ[_ACTIVATION], environ[_CONTEXT] = activation, reference
        environ[_SPAN], environ[_TOKEN] = activation.span, None

    def _start_span(self, request: Any, environ: dict[str, Any], activation: Activation) -> dict[str, Any]:
        """Start the span of a request; return its attributes."""
        shape, attributes = self._shapes.look(environ)
        rule = request.url_rule
        route = rule.rule if rule else None
        if not shape.method:
            name = stock.get_default_span_name()  # type: ignore[no-untyped-call]
        elif rule is not None:
            name = f"{shape.method} {rule.rule}"
        else:
            name = name_span(shape.method, environ)
        if rule:
            attributes[HTTP_ROUTE] = route
        activation.start(self._tracer, name, environ, attributes, environ.get(_START_TIME))
        return attributes

    def _commented(self, request: Any) -> dict[str, Any]:
        """What is written into the comments of SQL queries."""
        options, endpoint = self._options, request.endpoint
        found = {}
        if options.get("framework", True):
            found["framework"] = f"flask:{stock.flask_version}"
        if options.get("controller", True) and endpoint:
            found["controller"] = endpoint
        rule = request.url_rule
        if options.get("route", True) and rule and rule.rule:
            found["route"] = rule.rule
        return found


class Teardown:
    """In the place of the function `_teardown_request` of an application; see `App`."""

    __slots__ = ("_twin",)

    def __init__(self, twin: Callable[..., Any], **_others: Any) -> None:
        self._twin = twin

    def __call__(self, exc: BaseException | None) -> None:
        """End the span."""
        try:
            request = flask.request._get_current_object()  # type: ignore[attr-defined]  # of the proxy
            is_streaming = stock._IS_FLASK_31_PLUS and getattr(getattr(request, "response", None), "stream", None)
            is_ours = self._leave_span(request.environ, None if is_streaming else exc)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            is_ours = self._leave_span_after(exc)
        if not is_ours:
            self._twin(exc)

    def _leave_span_after(self, exc: BaseException | None) -> bool:
        """Leave the span after an error; False: it is not ours."""
        try:
            environ = flask.request.environ
            activation = environ.pop(_ACTIVATION, None)
            environ.pop(_TOKEN, None)
            # Not by its class: that question may be what failed.
            if hasattr(activation, "leave"):
                activation.leave(exc)
            elif activation is not None:
                environ[_ACTIVATION] = activation
                return False
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        return True

    def _leave_span(self, environ: Any, error: BaseException | None) -> bool:
        """Leave the span; False: the request began before this patch was applied."""
        # Without an activation, the URL is excluded.
        activation = environ.get(_ACTIVATION)
        if not isinstance(activation, Activation):
            return activation is None
        # A context that was copied from that of the request leaves the span alone.
        if environ.get(_CONTEXT) == stock._request_ctx_ref():
            try:
                activation.leave(error)
            except (AttributeError, RuntimeError, ValueError) as fault:
                faults.raise_interruption(fault)
                stock._logger.debug("Error during request teardown: %s", fault, exc_info=True)
            finally:
                environ.pop(_ACTIVATION, None)
                environ.pop(_TOKEN, None)
        return True
