"""A request through `OpenTelemetryMiddleware`: what replaces its `__call__`.

Plain Python; compiled as `middleware_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import wsgi as stock
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.http.conventions import StockFunctions
from otel_fastpath.http.server import LEFT_TO_STOCK, WITHOUT, RequestChooser, ServerRequest, put_captured
from otel_fastpath.http.servers.activations import Activation
from otel_fastpath.http.servers.environs import EnvironShapes, name_span
from otel_fastpath.http.servers.malformed import is_malformed_environ
from otel_fastpath.http.servers.server_metrics import keep_plan, plan_of
from otel_fastpath.http.servers.variables import REQUEST_HEADERS, RESPONSE_HEADERS
from otel_fastpath.http.stock_functions import COLLECTING, STOCK
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import inherits

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACE = "the WSGI middleware"
# Other code may replace the functions in whose place this stands.
_stock_functions = StockFunctions(STOCK["wsgi.request"])


def serve(original: Any, middleware: Any, environ: Any, start_response: Any) -> Any:
    """Serve a request as `OpenTelemetryMiddleware.__call__` does.

    Args:
        original: Stock's method, which serves unusual requests.
        middleware: The middleware.
        environ: As for the method.
        start_response: Likewise.
    """
    chosen = _requests.choose(middleware, environ)
    if type(chosen) is WsgiRequest:
        request = chosen
        request.start_response = start_response
        try:
            chosen = request.try_start(_PLACE)
            if chosen is request:
                return request.serve()
        except BaseException:
            request.end(None)
            raise
    return (
        middleware.wsgi(environ, start_response) if chosen is WITHOUT else original(middleware, environ, start_response)
    )


class _WsgiRequests(RequestChooser):
    """Decides how each request is served."""

    __slots__ = ()

    def find(self, middleware: Any, environ: Any) -> Any:
        """A `WsgiRequest`, not started yet, or `LEFT_TO_STOCK`."""
        # Custom mappings are not valid in WSGI.
        if type(environ) is not dict or not _stock_functions.hold():
            return LEFT_TO_STOCK
        active, mode = middleware.active_requests_counter, middleware._sem_conv_opt_in_mode
        old, new = middleware.duration_histogram_old, middleware.duration_histogram_new
        shapes = plan_of(middleware, active, old, new, mode)
        if shapes is None:
            if not inherits(type(middleware), stock.OpenTelemetryMiddleware, ("_create_start_response",)):
                return LEFT_TO_STOCK
            shapes = EnvironShapes(stock, "collect_request_attributes", COLLECTING["wsgi"], active, old, new, mode)
            keep_plan(shapes, middleware)
        shape, attributes = shapes.look(environ)
        request = WsgiRequest.__new__(WsgiRequest)
        request.prepare(shapes, shape.labels, Activation())
        request.attributes, request.method = attributes, shape.method
        request.middleware, request.environ, request.hook = middleware, environ, middleware.response_hook
        return request

    def is_malformed(self, request: Any) -> bool:
        """See `RequestChooser`."""
        return is_malformed_environ(request)


_requests = _WsgiRequests(_PLACE)


class WsgiRequest(ServerRequest):
    """A request that is being served.

    Attributes:
        attributes: Those of the span at its start.
        environ: The environ.
        hook: The user's response hook, or None.
        method: The method; nothing if it is an unusual one.
        middleware: The middleware.
        start_response: The server's function.
    """

    __slots__ = ("attributes", "environ", "hook", "method", "middleware", "start_response")

    attributes: dict[str, Any]
    environ: dict[str, Any]
    hook: Any
    method: str
    middleware: Any
    start_response: Any

    def start(self) -> None:
        """Start the span."""
        name = name_span(self.method, self.environ) if self.method else stock.get_default_span_name(self.environ)
        self.activation.start(self.middleware.tracer, name, self.environ, self.attributes)

    def is_malformed(self) -> bool:
        """See `ServerRequest`."""
        return is_malformed_environ(self.environ)

    def serve(self) -> Any:
        """Call the application, and return the body of its response; the caller ends what raises an exception."""
        activation, middleware = self.activation, self.middleware
        self.capture()
        if middleware.request_hook:
            middleware.request_hook(activation.span, self.environ)
        self.count()
        activation.activate()
        try:
            chunks = middleware.wsgi(self.environ, self.respond)
        except Exception as error:
            activation.record(error)
            self.fail(error)
            raise
        finally:
            # The span is the current one, for exemplars.
            try:
                self.measure()
            finally:
                activation.deactivate()
        body = self.body(chunks)
        activation.suspend()
        return body

    def capture(self) -> None:
        """Put the captured headers of the request on the span."""
        try:
            collect = stock.collect_custom_request_headers_attributes
            put_captured(self.activation.span, REQUEST_HEADERS, collect, self.environ)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def body(self, chunks: Any) -> Any:
        """The body of the response; without the span, after a fault of ours."""
        try:
            return Body(self, chunks)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        self.end(None)
        return chunks

    def respond(self, status: str, response_headers: list[tuple[str, str]], *args: Any, **kwargs: Any) -> Any:
        """The application's `start_response`."""
        self.answer(status, response_headers)
        if self.hook:
            self.hook(self.activation.span, self.environ, status, response_headers)
        return self.start_response(status, response_headers, *args, **kwargs)

    def answer(self, status: str, response_headers: list[tuple[str, str]]) -> None:
        """Put the status and the captured headers of the response on the span."""
        try:
            span = self.activation.span
            self.put_status(span, status)
            put_captured(span, RESPONSE_HEADERS, stock.collect_custom_response_headers_attributes, response_headers)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def fail(self, error: Exception) -> None:
        """Put the type of the application's exception on the span and the metrics."""
        if not self.has_new:
            return
        try:
            span = self.activation.span
            self.error = type(error).__qualname__
            if span.is_recording():
                span.set_attribute(ERROR_TYPE, self.error)
            span.set_status(Status(StatusCode.ERROR, faults.text_of(error)))
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)


class Body:
    """The body of a response: an iterable, and its own iterator. The span ends with it.

    Args:
        request: The request.
        chunks: The application's iterable.
    """

    __slots__ = ("__weakref__", "_chunks", "_is_ended", "_iterator", "_request")

    def __init__(self, request: WsgiRequest, chunks: Any) -> None:
        self._request = request
        self._chunks = chunks
        self._iterator: Any = None
        self._is_ended = False

    def __iter__(self) -> Any:
        """The iterator: a generator, which ends the span."""
        if self._iterator is None:
            self._iterator = self._iterate()
        return self._iterator

    def __next__(self) -> Any:
        """The next chunk."""
        if self._iterator is None:
            self._iterator = self._iterate()
        return next(self._iterator)

    def close(self) -> None:
        """Close the application's iterable, and end the span, also if nothing was read."""
        if self._iterator is not None:
            self._iterator.close()
        if not self._is_ended:
            self._end()

    def _iterate(self) -> Iterator[bytes]:
        activation = self._request.activation
        try:
            activation.resume()
            try:
                activation.activate()
                yield from self._chunks
            except Exception as error:
                activation.record(error)
                raise
            finally:
                activation.deactivate()
        finally:
            self._end()

    def _end(self) -> None:
        self._is_ended = True
        request = self._request
        try:
            # Most are lists, which cannot be closed.
            if type(self._chunks) is not list and (close := self._closing()):
                close()
        finally:
            try:
                request.end(None)
            except BaseException:
                # What was not done yet: a time limit may have arrived.
                request.end(None)
                raise

    def _closing(self) -> Any:
        """What closes the application's iterable, or None."""
        try:
            return getattr(self._chunks, "close", None)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            return None
