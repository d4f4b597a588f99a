"""A request through `OpenTelemetryMiddleware`: what replaces its `__call__`.

Plain Python; compiled as `middleware_c`.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import wsgi as stock
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.http.environs import EnvironShapes
from otel_fastpath.http.parents import activate, detach_token, make_current, start
from otel_fastpath.http.responses import ResponseTelemetry, record_error
from otel_fastpath.http.series import ApplicationMetrics, RequestLabels
from otel_fastpath.http.stock import COLLECTING, STOCK
from otel_fastpath.http.variables import REQUEST_HEADERS, RESPONSE_HEADERS, VARIABLES
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.current_context import restore
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.context import Context

_PLACE = "the WSGI middleware"
_SERVER = SpanKind.SERVER
_Middleware = stock.OpenTelemetryMiddleware
# Other code may replace the functions in whose place this stands.
_STOCK = STOCK["wsgi.request"]
_facts = Facts(UNKNOWN)


def serve(original: Any, middleware: Any, environ: Any, start_response: Any) -> Any:
    """Serve a request as `OpenTelemetryMiddleware.__call__` does.

    Args:
        original: Stock's method, which serves unusual requests.
        middleware: The middleware.
        environ: As for the method.
        start_response: Likewise.
    """
    request, is_without = None, False
    try:
        try:
            # Custom mappings are not valid in WSGI.
            if type(environ) is dict and (_facts.hold() or _STOCK.holds_again(_facts)):
                request = _make_request(middleware, environ, start_response)
                if request is not None:
                    request.start(middleware.tracer)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            request = None
            # What is not ours, such as a sampler, would raise again in stock's code.
            is_without = not faults.ours(error)
        if request is not None:
            return request.serve(middleware)
    except BaseException:
        if request is not None:
            request.end()
        raise
    return middleware.wsgi(environ, start_response) if is_without else original(middleware, environ, start_response)


def _shapes_of(middleware: Any) -> EnvironShapes | None:
    """The shapes of this middleware's requests; None if stock has to serve them."""
    active = middleware.active_requests_counter
    old, new = middleware.duration_histogram_old, middleware.duration_histogram_new
    mode = middleware._sem_conv_opt_in_mode
    shapes: EnvironShapes | None = middleware.__dict__.get("_otel_fastpath")
    if type(shapes) is EnvironShapes and shapes.series.is_of(active, old, new, mode):
        return shapes
    if type(middleware)._create_start_response is not _Middleware._create_start_response:
        return None
    series = ApplicationMetrics(active, old, new, mode)
    shapes = EnvironShapes(stock, "collect_request_attributes", COLLECTING["wsgi"], series, mode)
    middleware._otel_fastpath = shapes
    return shapes


def _make_request(middleware: Any, environ: dict[str, Any], start_response: Any) -> WsgiRequest | None:
    """The request, not started yet; None if stock has to serve it."""
    shapes = _shapes_of(middleware)
    if shapes is None:
        return None
    request = WsgiRequest(shapes.has_old, shapes.has_new)
    shape, request.attributes = shapes.look(environ)
    request.series, request.labels, request.method = shapes.series, shape.labels, shape.method
    request.environ, request.start_response, request.hook = environ, start_response, middleware.response_hook
    request.span = request.context = request.token = request.active = None
    request.is_over = True
    return request


class WsgiRequest(ResponseTelemetry):
    """A request that is being served.

    Attributes:
        active: Takes back the context in which the span is the current one; None if it is not.
        attributes: Those of the span at its start.
        context: The context with the remote parent, if it has to be the current one.
        environ: The environ.
        hook: The user's response hook, or None.
        is_over: Whether there is no span to be ended.
        labels: The attributes of the metrics.
        method: The method; nothing if it is an unusual one.
        series: The metrics.
        span: The span; None before it has started.
        start_response: The server's function.
        token: Takes back the context with the remote parent; None if it is not the current one.
    """

    __slots__ = (
        *("active", "attributes", "context", "environ", "hook", "is_over", "labels", "method", "series"),
        *("span", "start_response", "token"),
    )

    active: Any
    attributes: dict[str, Any]
    context: Context | None
    environ: dict[str, Any]
    hook: Callable[..., Any] | None
    is_over: bool
    labels: RequestLabels
    method: str
    series: ApplicationMetrics
    span: Any
    start_response: Callable[..., Any]
    token: Any

    def start(self, tracer: Any) -> None:
        """Start the span."""
        if self.method:
            path = self.environ.get("PATH_INFO", "").strip()
            name = f"{self.method} {path}" if path else self.method
        else:
            name = stock.get_default_span_name(self.environ)
        self.is_over = False
        self.span, self.context, self.token = start(tracer, name, self.environ, self.attributes)

    def serve(self, middleware: Any) -> Any:
        """Call the application, and return the body of its response; the caller ends what raises an exception."""
        self.capture()
        if middleware.request_hook:
            middleware.request_hook(self.span, self.environ)
        started = perf_counter()
        self.labels.count(1, _PLACE)
        self.activate()
        try:
            chunks = middleware.wsgi(self.environ, self.respond)
        except Exception as error:
            self.note(error)
            self.fail(error)
            raise
        finally:
            # The span is the current one, for exemplars.
            try:
                self.record(perf_counter() - started)
            finally:
                self.deactivate()
        body = self.body(chunks)
        # Until the body is read, another request may be served in this thread.
        self.leave()
        return body

    def capture(self) -> None:
        """Put the captured headers of the request on the span."""
        try:
            span = self.span
            if VARIABLES.get(REQUEST_HEADERS) and span.is_recording() and span.kind == _SERVER:
                captured = stock.collect_custom_request_headers_attributes(self.environ)
                if captured:
                    span.set_attributes(captured)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def activate(self) -> None:
        """Make the span the current one."""
        try:
            self.active = activate(self.span)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def deactivate(self) -> None:
        """Undo `activate`."""
        token = self.active
        try:
            detach_token(token)
            self.active = None
        except BaseException:
            restore(token)
            self.active = None
            raise

    def note(self, error: Exception) -> None:
        """Record an exception of the application on the span."""
        try:
            record_error(self.span, error)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def body(self, chunks: Any) -> Any:
        """The body of the response; without the span, after a fault of ours."""
        try:
            return Body(self, chunks)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        self.end()
        return chunks

    def respond(self, status: str, response_headers: list[tuple[str, str]], *args: Any, **kwargs: Any) -> Any:
        """The application's `start_response`."""
        self.answer(status, response_headers)
        if self.hook:
            self.hook(self.span, self.environ, status, response_headers)
        return self.start_response(status, response_headers, *args, **kwargs)

    def answer(self, status: str, response_headers: list[tuple[str, str]]) -> None:
        """Put the status and the captured headers of the response on the span."""
        span = self.span
        try:
            self.put_status(span, status)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        try:
            if VARIABLES.get(RESPONSE_HEADERS) and span.is_recording() and span.kind == _SERVER:
                captured = stock.collect_custom_response_headers_attributes(response_headers)
                if captured:
                    span.set_attributes(captured)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def record(self, seconds: float) -> None:
        """Record the metrics at the end of the application's call."""
        try:
            self.series.record(self.labels, seconds, None, self.code, self.error, None, None)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        finally:
            self.labels.count(-1, _PLACE)

    def fail(self, error: Exception) -> None:
        """Put the type of the application's exception on the span and the metrics."""
        if not self.has_new:
            return
        try:
            self.error = type(error).__qualname__
            if self.span.is_recording():
                self.span.set_attribute(ERROR_TYPE, self.error)
            self.span.set_status(Status(StatusCode.ERROR, faults.text_of(error)))
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def enter(self) -> None:
        """Make the context with the remote parent the current one again."""
        if self.context is not None:
            try:
                self.token = make_current(self.context)
            except Exception as error:
                faults.absorb_any(_PLACE, error)

    def leave(self) -> None:
        """Take back the context with the remote parent."""
        token = self.token
        if token is not None:
            try:
                detach_token(token)
                self.token = None
            except BaseException:
                restore(token)
                self.token = None
                raise

    def end(self) -> None:
        """End the span, and restore the context: what was not done yet."""
        try:
            if self.active is not None:
                self.deactivate()
            if not self.is_over and self.span is not None:
                self.is_over = True
                try:
                    end_span(self.span, _PLACE)
                except BaseException:
                    self.is_over = not self.span.is_recording()
                    raise
        finally:
            self.leave()


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
        request = self._request
        try:
            request.enter()
            try:
                request.activate()
                yield from self._chunks
            except Exception as error:
                request.note(error)
                raise
            finally:
                request.deactivate()
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
                request.end()
            except BaseException:
                # What was not done yet: a time limit may have arrived.
                request.end()
                raise

    def _closing(self) -> Any:
        """What closes the application's iterable, or None."""
        try:
            return getattr(self._chunks, "close", None)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            return None
