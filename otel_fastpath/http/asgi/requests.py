"""One request of an ASGI application: its spans and metrics, as stock's middleware makes them.

Compiled as `requests_c`.
"""

from __future__ import annotations

from timeit import default_timer
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.instrumentation import asgi as _asgi
from opentelemetry.instrumentation import propagators as _propagators
from opentelemetry.trace import INVALID_SPAN, SpanKind
from opentelemetry.util.http import normalise_request_header_name, normalise_response_header_name

from otel_fastpath.compiled.helpers import rounded
from otel_fastpath.http.asgi.headers import content_length, remote_context
from otel_fastpath.http.scopes import activate, detach_token, enter_scope, exit_scope, make_scope
from otel_fastpath.http.servers.responses import ResponseTelemetry, code_of, record_error
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import attach_context, current, span_in
from otel_fastpath.wrapping.starting import drops_below, emit, end_span, is_recording, start

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from otel_fastpath.http.asgi.shapes import Description, ScopeShape

    _Message = MutableMapping[str, Any]

asgi: Any = _asgi
_propagators_globals = vars(_propagators)
PLACE: Final = "a request of ASGI"
_SERVER: Final = SpanKind.SERVER
_INTERNAL: Final = SpanKind.INTERNAL
# Other statuses are errors of a server; their text is an attribute.
_LOWEST, _HIGHEST = 100, 499


class Request(ResponseTelemetry):
    """One request (or websocket) in progress; `prepare` is called before anything else.

    The settings of the middleware are read once: a stream has many messages.

    Attributes:
        has_hooks: Whether a hook is called when the request begins, or with the messages that are sent.
        span: Its span; set by `start`.
    """

    __slots__ = (
        *("_about", "_found", "_is_active", "_is_http", "_is_silent", "_length", "_middleware", "_parent"),
        *("_receive", "_request_hook", "_response_hook", "_scope", "_send", "_send_name", "_sends", "_shape"),
        *("_started", "_token", "_tracer", "_trailers", "has_hooks", "span"),
    )

    def prepare(
        self,
        middleware: Any,
        scope: _Message,
        found: dict[str, list[str]],
        about: Description,
        shape: ScopeShape,
    ) -> None:
        """Set what is known of the request.

        Args:
            middleware: Stock's middleware that serves it.
            scope: The request.
            found: Its headers that telemetry needs.
            about: The name and the attributes of its span.
            shape: Its kind.
        """
        self.has_old, self.has_new = shape.has_old, shape.has_new
        self.code = self.error = None
        self._started = default_timer()
        self._middleware, self._scope, self._found = middleware, scope, found
        self._about, self._shape = about, shape
        self._tracer, self._sends = middleware.tracer, not middleware.exclude_send_span
        self._request_hook, self._response_hook = middleware.server_request_hook, middleware.client_response_hook
        self.has_hooks = self._request_hook is not None or self._response_hook is not None
        self._send_name: str | None = None
        self._is_http, self._is_silent = scope["type"] == "http", False
        self._length: int | None = None
        self._trailers = self._is_active = False
        self._token: Any = None
        self._parent: Any = None
        self.span: Any = None

    def start(self) -> None:
        """Start the span under the current one, or else under the one that the headers name, and make it current."""
        parent = span_in(None)
        kind = _INTERNAL
        if parent is None or parent is INVALID_SPAN:
            kind = _SERVER
            remote = remote_context(self._scope, self._found)
            # An empty context hides what the current one holds.
            if remote is not None or current():
                self._parent = attach_context(Context() if remote is None else remote)
        self.span = start(self._tracer, kind, self._about)
        self._is_active = True
        self._count(1)
        try:
            self._token = activate(self.span)
            if not is_recording(self.span):
                # Then those below it, one for each message, are not made.
                self._is_silent = drops_below(self._tracer, self.span)
                if not self._is_silent:
                    # The application may change the request.
                    self._about.make()
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def drop(self) -> None:
        """End what `start` has begun before it raised an exception: other code serves the request."""
        self._restore()
        if self.span is not None:
            self._end_span()

    def _count(self, number: int) -> None:
        """Add to the number of active requests."""
        if self._is_http:
            self._shape.labels.count(number, PLACE)

    def announce(
        self, receive: Callable[[], Awaitable[_Message]], send: Callable[[_Message], Awaitable[None]]
    ) -> tuple[Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]]:
        """Call the hook of the request; return what the application is to be called with."""
        middleware = self._middleware
        span = self.span
        captured = middleware.http_capture_headers_server_request
        if captured:
            self._capture(span, captured)
        if self._request_hook is not None and callable(self._request_hook):
            self._request_hook(span, self._scope)
        self._receive = receive
        self._send = send
        return (receive if middleware.exclude_receive_span else self.receive), self.send

    def _capture(self, span: Any, names: list[str]) -> None:
        """Set the attributes of captured headers, unless stock's function cannot decode one."""
        try:
            if not span.is_recording() or span.kind != _SERVER:
                return
            custom = asgi.collect_custom_headers_attributes(
                self._scope,
                self._middleware.http_capture_headers_sanitize_fields,
                names,
                normalise_request_header_name,
            )
            if custom:
                span.set_attributes(custom)
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def receive(self) -> Awaitable[_Message]:
        """Receive the next message, inside a span unless that would be dropped."""
        has_span = True
        try:
            if self._is_silent and self._middleware.client_request_hook is None and span_in(None) is self.span:
                has_span = False
        except Exception as error:
            faults.absorb_any(PLACE, error)
        return self._receive_in_span() if has_span else self._receive()

    async def _receive_in_span(self) -> _Message:
        middleware = self._middleware
        scope = self._scope_of("receive")
        if scope is not None:
            try:
                span = enter_scope(scope)
                if span is not None:
                    message = await self._receive()
                    hook = middleware.client_request_hook
                    if callable(hook):
                        hook(span, self._scope, message)
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
        return " ".join((self._about.name, self._scope["type"], what))  # type: ignore[arg-type]  # made

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

    def send(self, message: _Message) -> Awaitable[None]:
        """Send a message, after a span of its own; with the last one, the request's span ends."""
        # A stream has many messages, and most need no coroutine of their own.
        return self._send_last(message) if self._handle_message(message) else self._send(message)

    async def _send_last(self, message: _Message) -> None:
        await self._send(message)
        self._end_span()

    def _handle_message(self, message: _Message) -> bool:
        """Emit what is known before a message is sent; return whether it is the last one."""
        try:
            kind = message["type"]
        except Exception as error:
            faults.raise_interruption(error)
            # A mistake of the application's, which the server reports.
            return False
        try:
            self._before_sending(message, kind)
        except Exception as error:
            faults.absorb_any(PLACE, error)
        try:
            final, more = "http.response.body", "more_body"
            if self._trailers:
                final, more = "http.response.trailers", "more_trailers"
            # A request whose last message is missed has its exception twice.
            return kind == final and not (more in message and message[more])  # noqa: RUF019  # no call that may fail
        except Exception as error:
            faults.absorb_any(PLACE, error)
            return False

    def _end_span(self) -> None:
        try:
            if is_recording(self.span):
                end_span(self.span, PLACE)
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def _before_sending(self, message: _Message, kind: str) -> None:
        middleware = self._middleware
        span = self.span
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
        if (
            has_headers
            and (captured := middleware.http_capture_headers_server_response)
            and span.is_recording()
            and span.kind == _SERVER
        ):
            custom = asgi.collect_custom_headers_attributes(
                message,
                middleware.http_capture_headers_sanitize_fields,
                captured,
                normalise_response_header_name,
            )
            if custom:
                span.set_attributes(custom)
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
        if hook is None and self._is_silent and span_in(None) is self.span:
            return
        if self._send_name is None:
            self._send_name = self._name_of("send")
        if hook is not None:
            with self._tracer.start_as_current_span(self._send_name) as span:
                hook(span, self._scope, message)
                self._describe_sending(span, message, kind, code, text)
            return
        attributes = {"asgi.event.type": kind}
        status = None if code is None else self.describe(attributes, code, text)
        # Nothing runs inside of it that could see it as the current span.
        if emit(self._tracer, _INTERNAL, self._send_name, attributes, status) and kind == "http.response.start":
            self._trailers = message.get("trailers", False)

    def _describe_sending(self, span: Any, message: _Message, kind: str, code: int | None, text: str) -> None:
        # Otherwise, the span would record a fault as an exception of the application's.
        try:
            if span.is_recording():
                if kind == "http.response.start":
                    self._trailers = message.get("trailers", False)
                span.set_attribute("asgi.event.type", kind)
                if code is not None:
                    self.show(span, code, text)
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def finish(self, error: BaseException | None) -> None:
        """Record the metrics, restore the context, and end the span, if the last message has not ended it.

        What was done is not done again: after an exception in here, the rest follows.

        Args:
            error: What the application raised, or None.
        """
        try:
            self._finish(error)
        except BaseException as fault:
            self._finish(error or fault)
            raise

    def _finish(self, error: BaseException | None) -> None:
        is_active, self._is_active = self._is_active, False
        try:
            if is_active and self._is_http:
                # While the span is the current one, for exemplars.
                self._measure()
            if is_active or self._token is not None:
                self._leave(error)
        finally:
            # An exemplar of the count may have the remote parent.
            try:
                if is_active:
                    self._count(-1)
            finally:
                self._restore()
                if self.span is not None:
                    self._end_span()

    def _restore(self) -> None:
        """Restore the context."""
        if self._token is not None:
            detach_token(self._token)
            self._token = None
        if self._parent is not None:
            detach_token(self._parent)
            self._parent = None

    def _measure(self) -> None:
        """Record the duration and the sizes."""
        try:
            scope = self._scope
            target = None
            if (found := scope.get("route")) is not None and (path_format := getattr(found, "path_format", None)):
                target = f"{scope.get('root_path', '')}{path_format}"
            # Not made: it was not sampled, and a metric that has the route needs none.
            attributes = self._about.attributes
            route = None if attributes is None else attributes.get("http.route")
            outcome = self._shape.outcome(self.code, self.error, target, route)
            seconds = default_timer() - self._started
            if outcome.duration_old is not None:
                outcome.duration_old.record(rounded(seconds * 1000))
            if outcome.duration_new is not None:
                outcome.duration_new.record(seconds)
            if self._length:
                for size in outcome.response_sizes:
                    size.record(self._length)
            length = content_length(scope.get("headers") or ())
            if length is not None:
                for size in outcome.request_sizes:
                    size.record(length)
        except Exception as error:
            faults.absorb_any(PLACE, error)

    def _leave(self, error: BaseException | None) -> None:
        """Restore the context in which the span is not current; the application raised this."""
        detach_token(self._token)
        self._token = None
        try:
            if isinstance(error, Exception):
                record_error(self.span, error)
        except Exception as fault:
            faults.absorb_any(PLACE, fault)
