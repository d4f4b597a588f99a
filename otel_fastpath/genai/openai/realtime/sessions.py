"""A websocket session of the client: one span from before it connects until it is closed, and what its events tell.

The connection stays the very object that the client made. Three of its methods are put before its own: what receives
a message, to hear that the server has closed it; what makes an event of a message, to hear of the few that tell
something; and what closes it. They go with the session. Content has a fourth, which hears what is sent.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.metrics import NoOpHistogram
from opentelemetry.metrics._internal.instrument import _ProxyHistogram
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.helpers import drop_finalizer
from otel_fastpath.genai import conventions as names
from otel_fastpath.genai.openai import completion_hooks as hooks
from otel_fastpath.genai.openai.fields import field
from otel_fastpath.genai.openai.providers import site_of
from otel_fastpath.genai.openai.realtime import session_content as content
from otel_fastpath.genai.openai.realtime import session_events as events
from otel_fastpath.patching.outcome import call_guarded, never_raises
from otel_fastpath.wrapping import call as skeleton
from otel_fastpath.wrapping.failure import named

if TYPE_CHECKING:
    from otel_fastpath.genai.openai.telemetry import OpenAITelemetry

ABANDONED: Final = "abandoned session"
_EVENT: Final = "an event of an OpenAI websocket"
_END: Final = "the end of an OpenAI websocket"


class RealtimeConnection:
    """One connection from before it is made. Ends once. Made by `begin`.

    Args:
        telemetry: The telemetry that records it.
        operation: The client's name for it: "realtime.connect".
        start: The attributes of the span at its start.

    Attributes:
        is_over: It has ended.
    """

    __slots__ = (
        *("_call", "_context", "_lost", "_name", "_said", "_span", "_start", "_started", "_telemetry", "_told"),
        "is_over",
    )

    def __init__(self, telemetry: OpenAITelemetry, operation: str, start: dict[str, Any]) -> None:
        # Not before there is anything to end.
        self.is_over = True
        self._telemetry = telemetry
        self._start = start
        self._told = events.Told()
        self._said: content.SessionMessages | None = content.SessionMessages() if telemetry.settings.captures else None
        self._lost: BaseException | None = None
        self._call = skeleton.new()
        self._span: Any = trace.INVALID_SPAN
        self._context: Any = None
        self._started = perf_counter()
        self._name = f"{operation} {start[names.MODEL]}" if start.get(names.MODEL) else operation

    def start(self) -> None:
        """Start the span, and make it the current one."""
        self.is_over = False
        skeleton.begin(self._call, skeleton.WrapperTelemetry(self._telemetry.tracer), self._name, self._start)
        self._span = self._call.span
        if self._span is None:
            # The call of a span that would be dropped has none; events and hooks have its ids all the same.
            self._span = self._telemetry.tracer.start_span(self._name, None, SpanKind.CLIENT, self._start)
        self._context = trace.set_span_in_context(self._span)

    @property
    def is_recorded(self) -> bool:
        """Whether the session is recorded in any way."""
        telemetry = self._telemetry
        histogram: Any = telemetry.histograms[0]
        measures = not isinstance(histogram, NoOpHistogram) and (
            not isinstance(histogram, _ProxyHistogram) or histogram._real_instrument is not None
        )
        settings = telemetry.settings
        return self._span.is_recording() or measures or settings.events or settings.hook is not None

    @property
    def kinds(self) -> frozenset[str]:
        """The types of the events that are read."""
        return events.KINDS if self._said is None else events.KINDS | content.KINDS

    @property
    def captures(self) -> bool:
        """Whether content is kept."""
        return self._said is not None

    def leave(self) -> None:
        """Restore the caller's context; the span goes on."""
        self._call.leave()

    @never_raises(_EVENT)
    def hear(self, event: Any) -> None:
        """Read a received event: of one of the types in `kinds`, or without a type. Never raises."""
        kind = field(event, "type")
        if type(kind) is not str:
            return
        read = events.READERS.get(kind)
        if read is not None:
            call_guarded(_EVENT, read, self._told, event)
        if self._said is not None:
            self._said.hear(kind, event)

    @never_raises(_EVENT)
    def hear_sent(self, event: Any) -> None:
        """Likewise, of an event that is sent, for its content."""
        if self._said is not None:
            self._said.ask(event)

    def lose(self, error: BaseException, *, comes_again: bool) -> None:
        """Handle that the server has closed the connection; it may be reconnected."""
        if comes_again:
            self._lost = error
        else:
            self.end(error)

    def regain(self) -> None:
        """Handle that the connection was reconnected."""
        self._lost = None

    def end(self, error: BaseException | None = None, failure: events.Failure | None = None) -> None:
        """End the session, unless it has ended.

        Args:
            error: The exception that ended it, if any.
            failure: The failure to record; None: it follows from the error and the server's last error event.
        """
        if self.is_over:
            return
        try:
            self.is_over = True
            self._record_outcome(error, failure)
        finally:
            try:
                self._call.end()
            finally:
                # See `wrapping.call`: the first may have been interrupted.
                self._call.end()
                drop_finalizer(self, RealtimeConnection)

    def _record_outcome(self, error: BaseException | None, failure: events.Failure | None) -> None:
        """Restore the context, and record all but the end."""
        self.leave()
        error, self._lost = error or self._lost, None
        seconds = perf_counter() - self._started
        kind, message = failure or call_guarded(_END, self._failure, error) or (None, None)
        attributes = call_guarded(_END, self._told.attributes) or {}
        if kind is not None:
            attributes[names.ERROR_TYPE] = kind
        captured = None if self._said is None else call_guarded(_END, self._said.captured)
        # Each is done even if the one before failed.
        call_guarded(_END, self._measure, seconds, attributes)
        call_guarded(_END, self._describe, attributes, captured, kind, message)
        call_guarded(_END, self._emit, attributes, captured)

    def _describe(self, attributes: dict[str, Any], captured: Any, kind: str | None, message: str | None) -> None:
        """Set the span's attributes and status."""
        if kind is not None:
            self._span.set_status(Status(StatusCode.ERROR, message))
        settings = self._telemetry.settings
        if captured is not None and settings.on_span and self._span.is_recording():
            attributes = attributes.copy()
            captured.on_span(attributes, settings.longest)
        self._span.set_attributes(attributes)

    def _emit(self, attributes: dict[str, Any], captured: Any) -> None:
        """Emit the event, and pass the content to the completion hook."""
        settings = self._telemetry.settings
        record = None
        if settings.events:
            told = {**self._start, **attributes}
            if captured is not None and settings.on_event:
                captured.on_event(told, settings.longest)
            record = LogRecord(event_name=names.EVENT, attributes=told, context=self._context)
        if settings.hook is not None:
            call_guarded(_END, hooks.call_hook, settings.hook, captured, self._span, record)
        if record is not None:
            self._telemetry.logger.emit(record)

    def _failure(self, error: BaseException | None) -> events.Failure:
        """The `error.type` and message of its end; what the server said of it goes before how it closed."""
        told = self._told
        is_closing = error is not None and type(error).__name__.startswith("ConnectionClosed")
        if told.error is not None and (not told.responses if error is None else is_closing):
            return told.error
        if error is None or type(error).__name__ == "ConnectionClosedOK":
            return None, None
        return named(error)

    def _measure(self, seconds: float, attributes: dict[str, Any]) -> None:
        series = dict(self._start)
        for name in (names.RESPONSE_MODEL, names.ERROR_TYPE):
            if name in attributes:
                series[name] = attributes[name]
        durations, tokens = self._telemetry.histograms[:2]
        durations.record(seconds, series, self._context)
        for kind, name in (("input", names.INPUT_TOKENS), ("output", names.OUTPUT_TOKENS)):
            if name in attributes:
                tokens.record(attributes[name], {**series, names.TOKEN_TYPE: kind}, self._context)


class OpenSession(RealtimeConnection):
    """One that has not ended; as `trace.context.scope.OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        # Only the connection holds it: nobody can close that any more.
        if not getattr(self, "is_over", True):
            self.end(self._lost, None if self._lost else (names.OTHER_ERROR, ABANDONED))


@never_raises("the beginning of an OpenAI websocket")
def begin(telemetry: OpenAITelemetry | None, operation: str, manager: Any, owner: str) -> RealtimeConnection | None:
    """Begin a session; None if it is not instrumented, or after an error in our code."""
    if telemetry is None or skeleton.is_suppressed():
        return None
    own = vars(manager)
    session = OpenSession(telemetry, operation, _start(operation, own, f"_{owner}__"))
    try:
        session.start()
    except BaseException as error:
        session.end(error)
        raise
    return session


def _start(operation: str, own: dict[str, Any], prefix: str) -> dict[str, Any]:
    """The attributes that are known before there is a connection."""
    client = own[f"{prefix}client"]
    model = own.get(f"{prefix}model")
    if not isinstance(model, str):
        model = own[f"{prefix}extra_query"].get("model")
    url = getattr(client, "websocket_base_url", None)
    base: Any = client._base_url
    site = site_of(type(client), base if url is None else type(base)(url))
    start = {
        names.OPERATION: operation,
        names.PROVIDER: site.provider,
        names.MODEL: model if isinstance(model, str) else None,
        names.SERVER_ADDRESS: site.address,
        names.SERVER_PORT: site.port,
        names.API_TYPE: "responses" if operation == "responses.connect" else None,
    }
    return {name: value for name, value in start.items() if value is not None}
