"""A request through `OpenTelemetryMiddleware`: what replaces its `__call__`.

Plain Python; compiled as `middleware_c`.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation import wsgi as upstream
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.libraries.http.environs import Shapes
from otel_fastpath.libraries.http.parents import activated, attached, start, taken_back
from otel_fastpath.libraries.http.responses import Answer, failed
from otel_fastpath.libraries.http.series import Labels, Series
from otel_fastpath.libraries.http.stock import COLLECTING, STOCK
from otel_fastpath.libraries.http.variables import REQUEST_HEADERS, RESPONSE_HEADERS, VARIABLES
from otel_fastpath.libraries.starting import end_span
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.context import Context

_PLACE = "the WSGI middleware"
_SERVER = SpanKind.SERVER
_Middleware = upstream.OpenTelemetryMiddleware
# Other code may replace the functions in whose place this stands.
_STOCK = STOCK["wsgi.request"]
_facts = Facts(UNKNOWN)


def serve(original: Any, middleware: Any, environ: Any, start_response: Any) -> Any:
    """Serve a request as `OpenTelemetryMiddleware.__call__` does.

    Args:
        original: Upstream's method, which serves unusual requests.
        middleware: The middleware.
        environ: As for the method.
        start_response: Likewise.
    """
    request, is_without = None, False
    try:
        # Custom mappings are not valid in WSGI.
        if type(environ) is dict and (_facts.hold() or _STOCK.holds_again(_facts)):
            request = _begun(middleware, environ, start_response)
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        # What is not ours, such as a sampler, would raise again in upstream's code.
        is_without = not faults.ours(error)
    if is_without:
        return middleware.wsgi(environ, start_response)
    if request is None:
        return original(middleware, environ, start_response)
    return request.serve(middleware)


def _shapes_of(middleware: Any) -> Shapes | None:
    """The shapes of this middleware's requests; None if upstream has to serve them."""
    active = middleware.active_requests_counter
    old, new = middleware.duration_histogram_old, middleware.duration_histogram_new
    mode = middleware._sem_conv_opt_in_mode
    shapes: Shapes | None = middleware.__dict__.get("_otel_fastpath")
    if type(shapes) is Shapes and shapes.series.is_of(active, old, new, mode):
        return shapes
    if type(middleware)._create_start_response is not _Middleware._create_start_response:
        return None
    series = Series(active, old, new, mode)
    shapes = Shapes(upstream, "collect_request_attributes", COLLECTING["wsgi"], series, mode)
    middleware._otel_fastpath = shapes
    return shapes


def _begun(middleware: Any, environ: dict[str, Any], start_response: Any) -> Request | None:
    """The request with its span; None if upstream has to serve it."""
    shapes = _shapes_of(middleware)
    if shapes is None:
        return None
    shape, attributes = shapes.look(environ)
    if shape.method:
        path = environ.get("PATH_INFO", "").strip()
        name = f"{shape.method} {path}" if path else shape.method
    else:
        name = upstream.get_default_span_name(environ)
    request = Request(shapes.has_old, shapes.has_new)
    request.series, request.labels = shapes.series, shape.labels
    request.environ, request.start_response, request.hook = environ, start_response, middleware.response_hook
    request.span, request.context, request.token = start(middleware.tracer, name, environ, attributes)
    return request


class Request(Answer):
    """A request that is being served.

    Attributes:
        context: The context with the remote parent, if it has to be the current one.
        environ: The environ.
        hook: The user's response hook, or None.
        labels: The attributes of the metrics.
        series: The metrics.
        span: The span.
        start_response: The server's function.
        token: Takes back the context with the remote parent; None if it is not the current one.
    """

    __slots__ = ("context", "environ", "hook", "labels", "series", "span", "start_response", "token")

    context: Context | None
    environ: dict[str, Any]
    hook: Callable[..., Any] | None
    labels: Labels
    series: Series
    span: Any
    start_response: Callable[..., Any]
    token: Any

    def serve(self, middleware: Any) -> Any:
        """Call the application, and return the body of its response."""
        try:
            self.capture()
            if middleware.request_hook:
                middleware.request_hook(self.span, self.environ)
            started = perf_counter()
            token = self.begin()
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
                    taken_back(token)
            return self.body(chunks)
        except BaseException:
            self.end()
            raise
        finally:
            # Until the body is read, another request may be served in this thread.
            self.leave()

    def capture(self) -> None:
        """Put the captured headers of the request on the span."""
        try:
            span = self.span
            if VARIABLES.get(REQUEST_HEADERS) and span.is_recording() and span.kind == _SERVER:
                captured = upstream.collect_custom_request_headers_attributes(self.environ)
                if captured:
                    span.set_attributes(captured)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def begin(self) -> Any:
        """Count the request, and make its span the current one; returns the token for `taken_back`."""
        self.labels.count(1, _PLACE)
        return self.activate()

    def activate(self) -> Any:
        """Make the span the current one."""
        try:
            return activated(self.span)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            return None

    def note(self, error: Exception) -> None:
        """Record an exception of the application on the span."""
        try:
            failed(self.span, error)
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
                captured = upstream.collect_custom_response_headers_attributes(response_headers)
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
                self.token = attached(self.context)
            except Exception as error:
                faults.absorb_any(_PLACE, error)

    def leave(self) -> None:
        """Take back the context with the remote parent."""
        token = self.token
        if token is not None:
            self.token = None
            taken_back(token)

    def end(self) -> None:
        """End the span."""
        try:
            end_span(self.span, _PLACE)
        finally:
            self.leave()


class Body:
    """The body of a response: an iterable, and its own iterator. The span ends with it.

    Args:
        request: The request.
        chunks: The application's iterable.
    """

    __slots__ = ("__weakref__", "_chunks", "_is_ended", "_iterator", "_request")

    def __init__(self, request: Request, chunks: Any) -> None:
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
        request.enter()
        try:
            token = request.activate()
            try:
                yield from self._chunks
            except Exception as error:
                request.note(error)
                raise
            finally:
                taken_back(token)
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
            request.end()

    def _closing(self) -> Any:
        """What closes the application's iterable, or None."""
        try:
            return getattr(self._chunks, "close", None)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
            return None
