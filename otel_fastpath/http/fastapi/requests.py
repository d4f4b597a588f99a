"""One request of an application with FastAPI's own telemetry: its span and metrics, as FastAPI makes them.

Compiled as `requests_c`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from fastapi.telemetry import _api, _asgi
from opentelemetry import _logs
from opentelemetry.trace import SpanKind, StatusCode

from otel_fastpath.http.conventions import StockFunctions
from otel_fastpath.http.fastapi.bound_instruments import ApplicationInstruments, instruments_of
from otel_fastpath.http.fastapi.scope_attributes import query_of, read, server_attributes
from otel_fastpath.http.fastapi.signals import is_logging, is_metering, tracing_provider
from otel_fastpath.http.server import LEFT_TO_STOCK, WITHOUT, RequestChooser
from otel_fastpath.http.servers.activations import Activation
from otel_fastpath.http.servers.asgi_messages import MessageRequest
from otel_fastpath.http.servers.malformed import is_malformed_scope
from otel_fastpath.http.stock_functions import STOCK
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import current

if TYPE_CHECKING:
    from collections.abc import Callable

api: Any = _api
asgi: Any = _asgi
_PLACE: Final = "a request of FastAPI"
_SERVER: Final = SpanKind.SERVER
_LOWEST_ERROR: Final = 500
_TRAILERS: Final = {"http.response.trailers": "more_trailers", "http.response.pathsend": "more"}
_LAST: Final = {"http.response.body": "more_body", **_TRAILERS}
# Only their types are of interest.
_DISCONNECTED: Final = ConnectionError("Client disconnected")
_INCOMPLETE: Final = RuntimeError("Incomplete ASGI response")
# Other code may replace the functions in whose place these stand.
_stock_functions = StockFunctions(STOCK["fastapi_own.request"])


class FastapiRequest(MessageRequest):
    """One request (or websocket) in progress.

    Args:
        own: FastAPI's `NativeTelemetry`.
        scope: The request.
        tracing: The provider of tracers; None: no spans.
        metering: Whether to record metrics.
        logging: Whether to emit log records.
    """

    __slots__ = (
        *("_attributes", "_disconnected", "_instruments", "_is_finished", "_is_websocket", "_method"),
        *("_own", "_provider", "_telemetry", "_with_logs"),
    )

    def __init__(self, own: Any, scope: dict[str, Any], tracing: Any, metering: bool, logging: bool) -> None:
        self._own, self.scope, self._provider, self._with_logs = own, scope, tracing, logging
        self._is_websocket = scope["type"] == "websocket"
        self._telemetry: Any = None
        self._is_finished = self._disconnected = False
        self.final = _LAST
        self._instruments: ApplicationInstruments | None = None
        labels: Any = None
        known = scope.get("method", "")
        self._method = known if known in own._known_methods else "_OTHER"
        attributes: dict[str, Any] = {"url.scheme": scope.get("scheme", "ws" if self._is_websocket else "http")}
        if self._is_websocket:
            attributes["network.protocol.name"] = "websocket"
        else:
            attributes["http.request.method"] = self._method
            if metering:
                self._instruments = instruments_of(own)
                labels = self._instruments.labels(attributes.copy())
            if version := scope.get("http_version"):
                attributes["network.protocol.version"] = version
        self._attributes = attributes
        self.prepare(None, labels, Activation())

    def start(self) -> None:
        """Count the request, start its span, and make both known to FastAPI."""
        own, scope, activation = self._own, self.scope, self.activation
        config = own.config
        if self.labels is not None:
            self.count()
        method = "HTTP" if self._method == "_OTHER" else self._method
        name = "WS" if self._is_websocket else method
        tracer = None
        if self._provider is not None:
            authority, parent = read(scope)
            if parent or current():
                activation.enter_remote(parent)
            tracer = own._get_tracer(provider=self._provider)
            activation.span = tracer.start_span(name, parent, _SERVER, self._describe(authority))
        logger = None
        if self._with_logs:
            logger = _logs.get_logger(
                "fastapi", asgi.__version__, config["logger_provider"], schema_url=asgi._SCHEMA_URL
            )
        telemetry = self._telemetry = api._RequestTelemetry(
            span=activation.span,
            span_method=name,
            tracer=tracer if config["operation_spans"] else None,
            logger=logger,
            _mount_prefix=scope.get("app_root_path", scope.get("root_path", "")).rstrip("/"),
        )
        scope["fastapi.telemetry"] = telemetry
        activation.activate(api._REQUEST_TELEMETRY_KEY, telemetry)

    def announce(self, receive: Any, send: Any) -> tuple[Any, Any]:
        """What the application is to be called with."""
        self._receive, self._send = receive, send
        return (receive, send) if self._is_websocket else (self.receive, self.send)

    def _describe(self, authority: bytes | None) -> dict[str, Any]:
        """The attributes that the span starts with."""
        scope = self.scope
        made = self._attributes.copy()
        made.update(server_attributes(scope, authority))
        if not self._is_websocket:
            made["url.path"] = scope["path"]
            if query := scope.get("query_string"):
                made["url.query"] = query_of(query)
            if (method := scope.get("method", "")) != self._method:
                made["http.request.method_original"] = method
        return made

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

    def before_sending(self, message: Any, kind: Any) -> None:
        """Keep what a message says of the response."""
        if kind == "http.response.start":
            self._telemetry.status_code = message.get("status")
            self.final = _TRAILERS if message.get("trailers", False) else _LAST

    def complete(self) -> None:
        """End the span with the last message."""
        self._finish(None)

    def end(self, error: BaseException | None) -> None:
        """End the span and forget the request, whose application has returned or raised: what was not done yet."""
        try:
            self._finish(self._failure(error))
        finally:
            try:
                self.activation.leave(None)
            finally:
                self._forget()

    def _failure(self, error: BaseException | None) -> BaseException | None:
        """Why the request failed; None: it did not. FastAPI makes an error of the application known."""
        if error is None:
            return None if self._is_websocket else _DISCONNECTED if self._disconnected else _INCOMPLETE
        try:
            if self._telemetry is not None:
                asgi._exception(scope=self.scope, exc=error)
                if self._is_websocket and api._normal_websocket_disconnect(error):
                    return None
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        return error

    def _finish(self, error: BaseException | None) -> None:
        if self._is_finished:
            return
        self._is_finished = True
        try:
            self._show_outcome(error)
        finally:
            try:
                self.measure()
            finally:
                self.activation.end()

    def _show_outcome(self, error: BaseException | None) -> None:
        """Put the outcome on the span."""
        try:
            if self._telemetry is None:
                return
            failed = self._put_outcome(self._attributes, error)
            span = self.activation.span
            if span is not None:
                span.set_attributes(self._attributes)
                if failed:
                    span.set_status(StatusCode.ERROR)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def record(self, seconds: float) -> None:
        """Record the duration, unless the request was interrupted before it had begun."""
        if self._telemetry is not None:
            self._instruments.histogram(self._attributes).record(max(seconds, 0.0))  # type: ignore[union-attr]  # it is counted

    def _put_outcome(self, attributes: dict[str, Any], error: BaseException | None) -> bool:
        """Add the route, the status and the type of an error; return whether the request failed."""
        telemetry = self._telemetry
        status = telemetry.status_code
        if telemetry.route is not None:
            attributes["http.route"] = telemetry.route
        if status is not None:
            attributes["http.response.status_code"] = status
        if error is None and (self._is_websocket or (type(status) is int and status < _LOWEST_ERROR)):
            return False
        errors = telemetry._exceptions
        failure = error or (errors[-1] if errors else None)
        attributes["error.type"] = api._exception_type(failure) if failure else str(status or "incomplete_response")
        return True

    def _forget(self) -> None:
        try:
            if self._telemetry is not None:
                self._telemetry.data = None
                self._telemetry._exceptions.clear()
                self.scope.pop("fastapi.telemetry", None)
        except Exception as error:
            faults.absorb_any(_PLACE, error)


def bind_call(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method that serves a request, in place of FastAPI's `NativeTelemetry.__call__`."""

    @functools.wraps(original)
    async def __call__(  # noqa: N807  # the name is in stack traces
        self: Any, *, app: Any, scope: Any, receive: Any, send: Any, legacy_otel: bool = False
    ) -> None:
        # Where the stock instrumentation is in charge of the application, FastAPI only asks whether it is excluded.
        is_idle = legacy_otel and self.config["exclude"] is None
        chosen = WITHOUT if is_idle else _requests.choose(self, scope)
        if type(chosen) is FastapiRequest:
            request: FastapiRequest = chosen
            try:
                chosen = request.try_start(_PLACE)
                if chosen is request:
                    given_receive, given_send = request.announce(receive, send)
                    await app(scope, given_receive, given_send)
                    request.end(None)
                    return
            except BaseException as error:
                request.end(error)
                raise
        if chosen is LEFT_TO_STOCK:
            await original(self, app=app, scope=scope, receive=receive, send=send, legacy_otel=legacy_otel)
            return
        await app(scope, receive, send)

    return __call__


class _FastapiRequests(RequestChooser):
    """Decides how each request is served."""

    __slots__ = ()

    def find(self, own: Any, scope: Any) -> Any:
        """A `FastapiRequest`, not started yet, or how to serve it without."""
        config = own.config
        if config["exclude"] is not None or type(scope) is not dict or not _stock_functions.hold():
            return LEFT_TO_STOCK
        tracing, metering, logging = tracing_provider(config), is_metering(config, scope), is_logging(config)
        if tracing is None and not metering and not logging:
            return WITHOUT
        return FastapiRequest(own, scope, tracing, metering, logging)

    def is_malformed(self, request: Any) -> bool:
        """See `RequestChooser`."""
        return is_malformed_scope(request)


_requests = _FastapiRequests(_PLACE)
