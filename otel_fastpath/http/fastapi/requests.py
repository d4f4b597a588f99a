"""One request of an application with FastAPI's own telemetry: its span and metrics, as FastAPI makes them.

Compiled as `requests_c`.
"""

from __future__ import annotations

import functools
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from fastapi.telemetry import _api, _asgi
from opentelemetry import _logs
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.http.conventions import StockFunctions
from otel_fastpath.http.fastapi.bound_instruments import ApplicationInstruments, kept_for
from otel_fastpath.http.fastapi.scope_attributes import query_of, read, server_attributes
from otel_fastpath.http.fastapi.signals import is_logging, is_metering, tracing_provider
from otel_fastpath.http.scopes import detach_token, make_current
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import current
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

api: Any = _api
asgi: Any = _asgi
_PLACE: Final = "a request of FastAPI"
_SERVER: Final = SpanKind.SERVER
_LOWEST_ERROR: Final = 500
# What `_chosen` returns if stock's own code is to serve the request, and if nothing is to be emitted for it.
_LEFT_TO_STOCK: Final = object()
_NOTHING: Final = object()
# Other code may replace the functions in whose place these stand.
_stock_functions = StockFunctions(STOCK["fastapi_own.request"])


class Request:
    """One request (or websocket) in progress.

    Args:
        own: FastAPI's `NativeTelemetry`.
        scope: The request.
        tracing: The provider of tracers; None: no spans.
        metering: Whether to record metrics.
        logging: Whether to emit log records.

    Attributes:
        is_websocket: Whether it is a websocket.
    """

    __slots__ = (
        *("_active", "_attributes", "_base", "_disconnected", "_finished", "_is_counted", "_kept", "_method"),
        *("_own", "_parent", "_provider", "_receive", "_scope", "_send", "_span", "_started", "_telemetry", "_token"),
        *("_trailers", "_with_logs", "is_websocket"),
    )

    def __init__(self, own: Any, scope: dict[str, Any], tracing: Any, metering: bool, logging: bool) -> None:
        self._own = own
        self._scope, self._provider, self._with_logs = scope, tracing, logging
        self.is_websocket = scope["type"] == "websocket"
        self._span: Any = None
        self._parent: Any = None
        self._token: Any = None
        self._active: Any = None
        self._telemetry: Any = None
        self._is_counted = False
        self._kept: ApplicationInstruments | None = None
        self._finished = self._trailers = self._disconnected = False
        known = scope.get("method", "")
        method = self._method = known if known in own._known_methods else "_OTHER"
        scheme = scope.get("scheme", "ws" if self.is_websocket else "http")
        if self.is_websocket:
            self._base = {"url.scheme": scheme, "network.protocol.name": "websocket"}
            self._attributes: dict[str, Any] = self._base.copy()
            return
        self._base = {"url.scheme": scheme, "http.request.method": method}
        self._attributes = self._base.copy()
        if version := scope.get("http_version"):
            self._attributes["network.protocol.version"] = version
        if metering:
            self._kept = kept_for(own)
            self._active = self._kept.counter(self._base)

    def start(self, receive: Any, send: Any) -> None:
        """Count the request, start its span, and make both known to FastAPI."""
        self._receive, self._send = receive, send
        self._is_counted = True
        self._count(1)
        self._enter()

    def drop(self) -> None:
        """Undo `start`, which raised an exception: FastAPI's own code may serve the request, in a span of its own."""
        self._span = None
        self._restore()
        self._uncount()

    def _uncount(self) -> None:
        is_counted, self._is_counted = self._is_counted, False
        if is_counted:
            self._count(-1)

    def _enter(self) -> None:
        """Start the span, and make it and the telemetry of the request current."""
        own, scope = self._own, self._scope
        config = own.config
        self._started = perf_counter()
        method = "HTTP" if self._method == "_OTHER" else self._method
        name = "WS" if self.is_websocket else method
        tracer = None
        context: Any = current()
        if self._provider is not None:
            authority, parent = read(scope)
            if parent or context:
                self._parent = make_current(parent)
            context = parent
            tracer = own._get_tracer(provider=self._provider)
            self._span = tracer.start_span(name, parent, _SERVER, self._describe(authority))
        telemetry = self._telemetry = api._RequestTelemetry(
            span=self._span,
            span_method=name,
            tracer=tracer if config["operation_spans"] else None,
            logger=_logs.get_logger("fastapi", asgi.__version__, config["logger_provider"], schema_url=asgi._SCHEMA_URL)
            if self._with_logs
            else None,
            _mount_prefix=scope.get("app_root_path", scope.get("root_path", "")).rstrip("/"),
        )
        scope["fastapi.telemetry"] = telemetry
        made = {**context, api._REQUEST_TELEMETRY_KEY: telemetry}
        if self._span is not None:
            made[_SPAN_KEY] = self._span
        self._token = make_current(Context(made))

    def _describe(self, authority: bytes | None) -> dict[str, Any]:
        """The attributes that the span starts with."""
        scope = self._scope
        made = self._attributes.copy()
        made.update(server_attributes(scope, authority))
        if not self.is_websocket:
            made["url.path"] = scope["path"]
            if query := scope.get("query_string"):
                made["url.query"] = query_of(query)
            if (method := scope.get("method", "")) != self._method:
                made["http.request.method_original"] = method
        return made

    def _count(self, number: int) -> None:
        """Add to the number of requests in progress."""
        try:
            if self._active is not None:
                self._active.add(number)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    async def receive(self) -> Any:
        """Receive the next message."""
        message = await self._receive()
        try:
            kind = message["type"]
        except Exception as error:
            faults.raise_interruption(error)
            # A mistake of the server's, which the application is to see.
            return message
        if kind == "http.disconnect":
            self._disconnected = True
        return message

    def send(self, message: Any) -> Awaitable[None]:
        """Send a message; with the last one, the request's span ends."""
        return self._send_last(message) if self._handle_message(message) else self._send(message)

    async def _send_last(self, message: Any) -> None:
        await self._send(message)
        self._finish(None)

    def _handle_message(self, message: Any) -> bool:
        """Keep what a message says of the response; return whether it is the last one."""
        try:
            kind = message["type"]
        except Exception as error:
            faults.raise_interruption(error)
            # A mistake of the application's, which the server reports.
            return False
        try:
            if kind == "http.response.body":
                return not self._trailers and not message.get("more_body", False)
            if kind == "http.response.trailers":
                return not message.get("more_trailers", False)
            if kind == "http.response.pathsend":
                return True
            if kind == "http.response.start":
                self._telemetry.status_code = message.get("status")
                self._trailers = message.get("trailers", False)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        return False

    def fail(self, error: BaseException) -> None:
        """End the span of a request whose application raised."""
        failure: BaseException | None = error
        try:
            if not self._finished and self._telemetry is not None:
                asgi._exception(scope=self._scope, exc=error)
                if self.is_websocket and api._normal_websocket_disconnect(error):
                    failure = None
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        finally:
            self._finish(failure)

    def complete(self) -> None:
        """End the span of a request whose application has returned, if the last message did not end it."""
        if self._finished:
            return
        lost: Exception | None = None
        try:
            if self._disconnected:
                lost = ConnectionError("Client disconnected")
            elif not self.is_websocket:
                lost = RuntimeError("Incomplete ASGI response")
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        self._finish(lost)

    def _finish(self, error: BaseException | None) -> None:
        if self._finished:
            return
        self._finished = True
        try:
            if self._telemetry is not None:
                self._record(error)
        finally:
            try:
                self._uncount()
            finally:
                self._end_span()

    def _record(self, error: BaseException | None) -> None:
        """Put the outcome on the span, and record the duration."""
        try:
            attributes = self._attributes
            failed = self._put_outcome(attributes, error)
            span = self._span
            if span is not None:
                span.set_attributes(attributes)
                if failed:
                    span.set_status(StatusCode.ERROR)
            if self._kept is not None:
                self._kept.histogram(attributes).record(max(0, perf_counter() - self._started))
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def _end_span(self) -> None:
        if self._span is not None:
            end_span(self._span, _PLACE)

    def _end_open_span(self) -> None:
        """End the span, if `_finish` was interrupted before it did."""
        try:
            if self._span is not None and self._span.is_recording():
                self._end_span()
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def _put_outcome(self, attributes: dict[str, Any], error: BaseException | None) -> bool:
        """Add the route, the status and the type of an error; return whether the request failed."""
        telemetry = self._telemetry
        status = telemetry.status_code
        if telemetry.route is not None:
            attributes["http.route"] = telemetry.route
        if status is not None:
            attributes["http.response.status_code"] = status
        if error is None and (self.is_websocket or (type(status) is int and status < _LOWEST_ERROR)):
            return False
        errors = telemetry._exceptions
        failure = error or (errors[-1] if errors else None)
        attributes["error.type"] = api._exception_type(failure) if failure else str(status or "incomplete_response")
        return True

    def close(self) -> None:
        """Forget the request and restore the context; what was not done yet, after an exception."""
        try:
            self._restore()
        finally:
            self._end_open_span()
        if self._telemetry is None:
            return
        try:
            self._telemetry.data = None
            self._telemetry._exceptions.clear()
            self._scope.pop("fastapi.telemetry", None)
        except Exception as error:
            faults.absorb_any(_PLACE, error)

    def _restore(self) -> None:
        if self._token is not None:
            detach_token(self._token)
            self._token = None
        if self._parent is not None:
            detach_token(self._parent)
            self._parent = None


def bind_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method that serves a request, in place of FastAPI's `NativeTelemetry.__call__`."""

    @functools.wraps(original)
    async def __call__(  # noqa: N807  # the name is in stack traces
        self: Any, *, app: Any, scope: Any, receive: Any, send: Any, legacy_otel: bool = False
    ) -> None:
        chosen = _chosen_or_none(self, scope, legacy_otel)
        if type(chosen) is Request:
            request: Request = chosen
            try:
                chosen = _start(request, receive, send)
                if chosen is request:
                    if request.is_websocket:
                        await app(scope, receive, send)
                    else:
                        await app(scope, request.receive, request.send)
                    request.complete()
                    request.close()
                    return
            except BaseException as error:
                try:
                    request.fail(error)
                finally:
                    request.close()
                raise
        if chosen is _LEFT_TO_STOCK:
            await original(self, app=app, scope=scope, receive=receive, send=send, legacy_otel=legacy_otel)
            return
        await app(scope, receive, send)

    return __call__


def _chosen_or_none(own: Any, scope: Any, legacy_otel: bool) -> Any:
    """What `_chosen` returns; after an error, how to serve the request without it."""
    try:
        return _chosen(own, scope, legacy_otel)
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        return _instead(error)


def _start(request: Request, receive: Any, send: Any) -> Any:
    """Start the span of a request; return the request, or how to serve it without one after an error."""
    try:
        request.start(receive, send)
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        request.drop()
        return _instead(error)
    return request


def _instead(error: Exception) -> Any:
    # What is not ours, such as a sampler, would raise again in stock's code.
    return _LEFT_TO_STOCK if faults.ours(error) else _NOTHING


def _chosen(own: Any, scope: Any, legacy_otel: bool) -> Any:
    """How to serve a request: a `Request`, not started yet, `_NOTHING` or `_LEFT_TO_STOCK`."""
    config = own.config
    if config["exclude"] is not None or type(scope) is not dict or not _stock_functions.hold():
        return _LEFT_TO_STOCK
    if legacy_otel:
        return _NOTHING
    tracing, metering, logging = tracing_provider(config), is_metering(config, scope), is_logging(config)
    if tracing is None and not metering and not logging:
        return _NOTHING
    return Request(own, scope, tracing, metering, logging)
