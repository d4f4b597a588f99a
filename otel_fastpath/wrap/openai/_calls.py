"""One call of the client: its span, from before the request until the answer was read, and what is told of it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from opentelemetry._logs import LogRecord
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import INVALID_SPAN
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.core import faults
from otel_fastpath.wrap._call import _SUPPRESS, error_type
from otel_fastpath.wrap.openai import _hooks as hooks
from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai import _requests as requests
from otel_fastpath.wrap.openai._content import Captured
from otel_fastpath.wrap.openai._context import attach, current, detach, with_span
from otel_fastpath.wrap.openai._endpoints import ERROR_AND_MODEL, FETCH_RESPONSE, Endpoint, endpoint_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.wrap.openai._chunks import Outcome
    from otel_fastpath.wrap.openai._telemetry import Target, Telemetry

_CLIENT: Final = SpanKind.CLIENT
_SERVED_MODEL: Final = "x-ms-served-model"
_NO_BODY: Final[dict[str, Any]] = {}
ABANDONED: Final = "abandoned stream"


class Call:
    """A call that is looked at: its span is recorded, or somebody measures. Ends once.

    Args:
        telemetry: Where it goes.
        target: What is called.
        context: The caller's.
        span: Its span, or the current one where it has none of its own.
        outer: The data of a call of `opentelemetry-util-genai` that it is part of, or None.

    Attributes:
        endpoint: What is called.
        context: The caller's with the call's span as the current one.
        is_over: It has ended.
        span: Its span.
        started: When, by `perf_counter`.
    """

    __slots__ = (
        "_attributes",
        "_captured",
        "_chunks",
        "_has_chunk",
        "_measures",
        "_outer",
        "_recording",
        "_served_model",
        "_target",
        "_telemetry",
        "_token",
        "context",
        "endpoint",
        "is_over",
        "span",
        "started",
    )

    def __init__(self, telemetry: Telemetry, target: Target, context: Any, span: Any, outer: Any) -> None:
        self._telemetry = telemetry
        self._target = target
        self.endpoint: Endpoint = target.endpoint
        self.span = span
        self._outer = outer
        self._measures = telemetry.measures
        self._recording = outer is not None or span.is_recording()
        self._attributes: dict[str, Any] = {}
        self._captured: Captured | None = None
        self._has_chunk = False
        self._served_model: str | None = None
        self._chunks: Any = None
        self.is_over = False
        if outer is None:
            self.context = with_span(context, span)
            self._token = attach(self.context)
        else:
            self.context = context
            self._token = None
            self._attributes.update(target.start)
        self.started = perf_counter()

    def read_request(self, options: Any, body: Any) -> None:
        """Put what the request says."""
        settings = self._telemetry.settings
        endpoint = self.endpoint
        attributes = self._attributes
        if self._recording or settings.events:
            attributes.update(endpoint.fixed)
            requests.read(body, endpoint.request, attributes)
            if endpoint.is_inference and names.CONVERSATION not in attributes:
                conversation = hooks.conversation(self.context)
                if conversation is not None:
                    attributes[names.CONVERSATION] = conversation
            if endpoint.options is not None:
                endpoint.options(options, attributes)
        if endpoint.content is not None and settings.captures:
            self._captured = Captured(endpoint.content, body)

    def leave(self) -> None:
        """Restore the caller's context; the span goes on."""
        token, self._token = self._token, None
        if token is not None:
            detach(token)

    def answer(self, result: Any, *, is_raw: bool = False) -> None:
        """End a call with an answer in one piece."""
        try:
            if not self.is_over:
                endpoint = self.endpoint
                if not is_raw or endpoint.has_result:
                    endpoint.result(result, self._attributes)
                    if self._captured is not None:
                        self._captured.answer(result)
                error = None if endpoint.error is None else endpoint.error(result)
                if error is not None:
                    self.end(*error)
                    return
        except Exception as fault:
            faults.report("the answer of an OpenAI call", fault)
        self.end()

    def stream(self) -> Callable[[Any], Outcome | None]:
        """Prepare for the answer to come in chunks; gives what reads one."""
        if self.endpoint is not FETCH_RESPONSE:
            self._attributes[names.STREAM] = True
        chunks = self._chunks = self.endpoint.chunks(self._attributes, self._captured)
        return chunks.add

    def headers(self, headers: Any) -> None:
        """Read what the headers of a response tell: the model that did answer."""
        served = headers.get(_SERVED_MODEL)
        if served and served.strip():
            self._attributes[names.RESPONSE_MODEL] = self._served_model = served

    def early_chunk(self, seconds: float) -> Callable[[float, Any], object] | None:
        """Measure the first chunk, or one before everything is known that the metric names.

        Returns:
            What measures all further chunks, given the seconds and the context; None: this does.
        """
        attributes = self._attributes
        is_first, self._has_chunk = not self._has_chunk, True
        if is_first and self.endpoint is not FETCH_RESPONSE:
            attributes[names.TIME_TO_FIRST_CHUNK] = seconds
        if not self._measures or self._outer is not None:
            return _no_measure
        series = self._target.series(attributes, ERROR_AND_MODEL)
        record = series.first_chunk if is_first else series.next_chunk
        record(seconds, self.context)
        return series.next_chunk if names.RESPONSE_MODEL in attributes else None

    def fail(self, error: BaseException) -> None:
        """End a call that raised."""
        own = getattr(error, "_gen_ai_error_type", None)
        self.end(own or error_type(error), str(error))

    def end(self, error: str | None = None, message: str | None = None) -> None:
        """End the call, unless it has ended.

        Args:
            error: Its `error.type`, where it failed.
            message: The description of the span's status.
        """
        if self.is_over:
            return
        self.is_over = True
        self.leave()
        try:
            self._tell(error, message)
        except Exception as fault:
            faults.report("the end of an OpenAI call", fault)
        if self._outer is None:
            self.span.end()

    def _tell(self, error: str | None, message: str | None) -> None:
        seconds = perf_counter() - self.started
        attributes = self._attributes
        if self._chunks is not None:
            self._chunks.finish()
        if self._served_model is not None:
            attributes[names.RESPONSE_MODEL] = self._served_model
        if error is not None:
            attributes[names.ERROR_TYPE] = error
        which = self.endpoint.series if self._chunks is None else ERROR_AND_MODEL
        settings = self._telemetry.settings
        if self._outer is not None:
            own = {name: attributes[name] for name in which if name not in ERROR_AND_MODEL and name in attributes}
            hooks.publish(self._outer, attributes, own, self._captured, settings.hook)
            return
        if self._recording:
            self._tell_span(error, message)
        if self._measures:
            self._measure(seconds, which)
        record = self._record() if self.endpoint.is_inference and settings.events else None
        if settings.hook is not None and self.endpoint.content is not None:
            hooks.call_hook(settings.hook, self._captured, self.span, record)
        if record is not None:
            self._telemetry.logger.emit(record)

    def _tell_span(self, error: str | None, message: str | None) -> None:
        attributes = self._attributes
        if error is not None:
            self.span.set_status(Status(StatusCode.ERROR, message))
        settings = self._telemetry.settings
        if self._captured is not None and settings.on_span:
            attributes = attributes.copy()
            self._captured.on_span(attributes, settings.longest)
        self.span.set_attributes(attributes)

    def _measure(self, seconds: float, which: tuple[str, ...]) -> None:
        attributes = self._attributes
        series = self._target.series(attributes, which)
        series.duration(seconds, self.context)
        for kind, name in (("input", names.INPUT_TOKENS), ("output", names.OUTPUT_TOKENS)):
            count = attributes.get(name)
            if count is not None:
                series.tokens(kind)(count, self.context)

    def _record(self) -> LogRecord:
        attributes = {**self._target.start, **self._attributes}
        settings = self._telemetry.settings
        if self._captured is not None and settings.on_event:
            self._captured.on_event(attributes, settings.longest)
        return LogRecord(event_name=names.EVENT, attributes=attributes, context=self.context)


def _no_measure(seconds: float, context: Any) -> None:
    """Nobody measures."""


class Quiet:
    """A call that nobody looks at: what is below it must know that it was not sampled, and that is all.

    Args:
        context: The caller's.
        span: Its span, which does not record.
    """

    __slots__ = ("_span", "_token")

    def __init__(self, context: Any, span: Any) -> None:
        self._span = span
        self._token = attach(with_span(context, span))

    def end(self, _error: BaseException | None = None) -> None:
        """Restore the caller's context and end the span."""
        detach(self._token)
        self._span.end()

    fail = end


def begin(telemetry: Telemetry, client: Any, options: Any) -> Call | Quiet | None:
    """Begin a call; None where it is not to be told of, or by a fault of ours.

    Args:
        telemetry: Where it goes.
        client: Whose call it is.
        options: The client's `FinalRequestOptions`.
    """
    call = None
    try:
        context = current()
        for key in _SUPPRESS:
            if context.get(key):
                return None
        if telemetry.is_idle:
            return None
        endpoint = endpoint_of(options.method, options.url)
        body = _body(options)
        target = telemetry.target(endpoint, client, body.get("model"))
        outer = context.get(endpoint.nests) if endpoint.nests else None
        if outer is None:
            start = target.start
            if endpoint is FETCH_RESPONSE:
                start = {**start, names.RESPONSE_ID: options.url.partition("?")[0].rsplit("/", 1)[-1]}
            span = telemetry.tracer.start_span(target.name, None, _CLIENT, start)
            if not (span.is_recording() or telemetry.listens):
                return Quiet(context, span)
        else:
            span = context.get(_SPAN_KEY, INVALID_SPAN)
        call = Call(telemetry, target, context, span, outer)
        call.read_request(options, body)
    except Exception as fault:
        faults.report("the beginning of an OpenAI call", fault)
        if call is not None:
            call.end()
        return None
    return call


def _body(options: Any) -> Any:
    """The request's body, with what the caller added to it."""
    body = options.json_data
    if not isinstance(body, dict):
        return _NO_BODY
    extra = options.extra_json
    return {**body, **extra} if isinstance(extra, dict) else body
