"""One request of an ASGI application: its spans and metrics, as stock's middleware makes them.

Compiled as `requests_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.instrumentation import asgi as _asgi
from opentelemetry.instrumentation import propagators as _propagators
from opentelemetry.trace import INVALID_SPAN, SpanKind
from opentelemetry.util.http import normalise_request_header_name, normalise_response_header_name

from otel_fastpath.http.asgi.headers import content_length, remote_context
from otel_fastpath.http.scopes import enter_scope, exit_scope, make_scope
from otel_fastpath.http.server import ServerRequest
from otel_fastpath.http.servers.activations import Activation
from otel_fastpath.http.servers.asgi_messages import MessageRequest
from otel_fastpath.http.servers.responses import code_of
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import current, span_in
from otel_fastpath.wrapping.starting import drops_below, emit, is_recording, start

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from otel_fastpath.http.asgi.shapes import Description, ScopeShape
    from otel_fastpath.http.servers.server_metrics import ApplicationMetrics

    _Message = MutableMapping[str, Any]

asgi: Any = _asgi
_propagators_globals = vars(_propagators)
PLACE: Final = "a request of ASGI"
_SERVER: Final = SpanKind.SERVER
_INTERNAL: Final = SpanKind.INTERNAL
# Other statuses are errors of a server; their text is an attribute.
_LOWEST, _HIGHEST = 100, 499
_BODY: Final = {"http.response.body": "more_body"}
_TRAILERS: Final = {"http.response.trailers": "more_trailers"}


class AsgiRequest(MessageRequest):
    """One request (or websocket) in progress; `describe_as` is called before anything else.

    The settings of the middleware are read once: a stream has many messages.

    Attributes:
        has_hooks: Whether a hook is called when the request begins, or with the messages that are sent.
    """

    __slots__ = (
        *("_about", "_found", "_is_http", "_is_silent", "_length", "_middleware", "_request_hook"),
        *("_response_hook", "_send_name", "_sends", "_tracer", "has_hooks"),
    )

    def describe_as(
        self,
        middleware: Any,
        scope: dict[str, Any],
        found: dict[str, list[str]],
        about: Description,
        series: ApplicationMetrics,
        shape: ScopeShape,
    ) -> None:
        """Set what is known of the request.

        Args:
            middleware: Stock's middleware that serves it.
            scope: The request.
            found: Its headers that telemetry needs.
            about: The name and the attributes of its span.
            series: The metrics.
            shape: Its kind.
        """
        self.prepare(series, shape.labels, Activation())
        self._middleware, self.scope, self._found, self._about = middleware, scope, found, about
        self._tracer, self._sends = middleware.tracer, not middleware.exclude_send_span
        self._request_hook, self._response_hook = middleware.server_request_hook, middleware.client_response_hook
        self.has_hooks = self._request_hook is not None or self._response_hook is not None
        self._send_name: str | None = None
        self._is_http, self._is_silent = scope["type"] == "http", False
        self._length: int | None = None
        self.final = _BODY

    def start(self) -> None:
        """Start the span under the current one, or else under the one that the headers name, and make it current."""
        activation = self.activation
        parent = span_in(None)
        kind = _INTERNAL
        if parent is None or parent is INVALID_SPAN:
            kind = _SERVER
            remote = remote_context(self.scope, self._found)
            # An empty context hides what the current one holds.
            if remote is not None or current():
                activation.enter_remote(Context() if remote is None else remote)
        activation.span = start(self._tracer, kind, self._about)
        if self._is_http:
            self.count()
        activation.activate()
        try:
            if not is_recording(activation.span):
                # Then those below it, one for each message, are not made.
                self._is_silent = drops_below(self._tracer, activation.span)
                if not self._is_silent:
                    # The application may change the request.
                    self._about.make()
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def announce(
        self, receive: Callable[[], Awaitable[_Message]], send: Callable[[_Message], Awaitable[None]]
    ) -> tuple[Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]]:
        """Call the hook of the request; return what the application is to be called with."""
        middleware = self._middleware
        captured = middleware.http_capture_headers_server_request
        if captured:
            try:
                self._capture(self.scope, captured, normalise_request_header_name)
            except Exception as error:
                faults.absorb_any(PLACE, error)
        if self._request_hook is not None and callable(self._request_hook):
            self._request_hook(self.activation.span, self.scope)
        self._receive, self._send = receive, send
        return (receive if middleware.exclude_receive_span else self.receive), self.send

    def _capture(self, source: _Message, names: list[str], normalise: Callable[[str], str]) -> None:
        """Set the attributes of captured headers; stock's function may not be able to decode one."""
        span = self.activation.span
        if span.is_recording() and span.kind == _SERVER:
            sanitize = self._middleware.http_capture_headers_sanitize_fields
            custom = asgi.collect_custom_headers_attributes(source, sanitize, names, normalise)
            if custom:
                span.set_attributes(custom)

    def receive(self) -> Awaitable[_Message]:
        """Receive the next message, inside a span unless that would be dropped."""
        has_span = True
        try:
            if (
                self._is_silent
                and self._middleware.client_request_hook is None
                and span_in(None) is self.activation.span
            ):
                has_span = False
        except Exception as error:
            faults.absorb_any(PLACE, error)
        return self._receive_in_span() if has_span else self._receive()

    async def _receive_in_span(self) -> Any:
        middleware = self._middleware
        scope = self._scope_of("receive")
        if scope is not None:
            try:
                span = enter_scope(scope)
                if span is not None:
                    message = await self._receive()
                    hook = middleware.client_request_hook
                    if callable(hook):
                        hook(span, self.scope, message)
                    self._describe_receiving(span, message)
                    exit_scope(scope, None)
                    return message
            except BaseException as error:
                exit_scope(scope, error)
                raise
        return await self._receive()

    def _scope_of(self, what: str) -> Any:
        try:
            name = self._name_of(what)
        except Exception as error:
            faults.absorb_any(PLACE, error)
            return None
        return make_scope(self._middleware.tracer, name, _INTERNAL, None)

    def _name_of(self, what: str) -> str:
        """The name of the span of a message."""
        self._about.make()
        # Not formatted: the name may be of a subclass of `str`.
        return " ".join((self._about.name, self.scope["type"], what))  # type: ignore[arg-type]  # made

    def _describe_receiving(self, span: Any, message: _Message) -> None:
        try:
            kind = message["type"]
        except Exception as error:
            faults.raise_interruption(error)
            # A mistake of the server's, which the application is to see.
            return
        try:
            if span.is_recording():
                if kind == "websocket.receive":
                    self.show(span, 200, "200")
                span.set_attribute("asgi.event.type", kind)
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def before_sending(self, message: _Message, kind: Any) -> None:
        """Make the span of the message, and put on the request's what the message says of the response."""
        span = self.activation.span
        status = None
        if kind == "http.response.start":
            # Without one, it is the server that refuses the message.
            status = message.get("status")
        elif kind == "websocket.send":
            status = 200
        code = code_of(status) if status else None
        text = "" if code is None or _LOWEST <= code <= _HIGHEST else str(status)
        if self._sends:
            self._make_send_span(message, kind, code, text)
        has_headers = "headers" in message
        if has_headers and (captured := self._middleware.http_capture_headers_server_response):
            self._capture(message, captured, normalise_response_header_name)
        if code is not None:
            self.put(span, code, text)
        propagator = _propagators_globals["_RESPONSE_PROPAGATOR"]
        if propagator:
            propagator.inject(message, context=trace.set_span_in_context(span, Context()), setter=asgi.asgi_setter)
        if has_headers and (length := content_length(message["headers"])) is not None:
            self._length = length

    def _make_send_span(self, message: _Message, kind: str, code: int | None, text: str) -> None:
        hook = self._response_hook
        if hook is not None and not callable(hook):
            hook = None
        if hook is None and self._is_silent and span_in(None) is self.activation.span:
            return
        if self._send_name is None:
            self._send_name = self._name_of("send")
        if hook is not None:
            with self._tracer.start_as_current_span(self._send_name) as span:
                hook(span, self.scope, message)
                self._describe_sending(span, message, kind, code, text)
            return
        attributes = {"asgi.event.type": kind}
        status = None if code is None else self.describe(attributes, code, text)
        # Nothing runs inside of it that could see it as the current span.
        if emit(self._tracer, _INTERNAL, self._send_name, attributes, status) and kind == "http.response.start":
            self.final = _TRAILERS if message.get("trailers", False) else _BODY

    def _describe_sending(self, span: Any, message: _Message, kind: str, code: int | None, text: str) -> None:
        # Otherwise, the span would record a fault as an exception of the application's.
        try:
            if span.is_recording():
                if kind == "http.response.start":
                    self.final = _TRAILERS if message.get("trailers", False) else _BODY
                span.set_attribute("asgi.event.type", kind)
                if code is not None:
                    self.show(span, code, text)
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def record(self, seconds: float) -> None:
        """Record the duration and the sizes."""
        scope = self.scope
        if (found := scope.get("route")) is not None and (path_format := getattr(found, "path_format", None)):
            self.target = f"{scope.get('root_path', '')}{path_format}"
        # Not made: it was not sampled, and a metric that has the route needs none.
        attributes = self._about.attributes
        self.route = None if attributes is None else attributes.get("http.route")
        outcome = self.series.outcome(self.labels, self.code, self.error, self.target, self.route)
        outcome.record(seconds, None)
        if self._length:
            for size in outcome.response_sizes:
                if size is not None:
                    size.record(self._length)
        length = content_length(scope.get("headers") or ())
        if length is not None:
            for size in outcome.request_sizes:
                if size is not None:
                    size.record(length)

    def uncount(self) -> None:
        """It is no longer active; as with stock, an exemplar of that may have the remote parent."""
        self.activation.deactivate()
        ServerRequest.uncount(self)

    def end(self, error: BaseException | None) -> None:
        """As of every server; as with stock, the span ends in the server's context."""
        try:
            self.measure()
            self.activation.deactivate()
            self.activation.suspend()
        finally:
            self.activation.leave(error)
