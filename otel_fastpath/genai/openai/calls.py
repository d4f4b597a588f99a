"""The part of a call of OpenAI's client that runs for each call or chunk. Plain Python; compiled as `calls_c`."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from opentelemetry.metrics import _internal as _metrics_api
from opentelemetry.trace import NonRecordingSpan
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import INVALID_SPAN
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.genai.openai.prepared_calls import body_of
from otel_fastpath.genai.openai.reading.models import is_count, read, read_body
from otel_fastpath.genai.rule_kinds import (
    CONVERSATION,
    ERROR_TYPE,
    INPUT_TOKENS,
    OTHER_ERROR,
    OUTPUT_TOKENS,
    RESPONSE_MODEL,
    STREAM,
    TIME_TO_FIRST_CHUNK,
)
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import absorb_during
from otel_fastpath.trace.context.current_context import attach_context, current, restore, with_span
from otel_fastpath.wrapping.call_span import is_suppressed
from otel_fastpath.wrapping.failure import named
from otel_fastpath.wrapping.starting import end_span, start_if_kept

if TYPE_CHECKING:
    from contextvars import Token
    from typing import Any

    from openai import AsyncOpenAI, OpenAI
    from openai._models import FinalRequestOptions
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from otel_fastpath.genai.openai import prepared_calls as prepared
    from otel_fastpath.genai.openai.content import Captured
    from otel_fastpath.genai.openai.reading.chunks import Chunks
    from otel_fastpath.genai.openai.telemetry import OpenAITelemetry
    from otel_fastpath.metrics.instruments.bound import BoundHistogram

    _Token = Token[Context] | tuple[Token[Context]]


_ERROR_AND_MODEL = (RESPONSE_MODEL, ERROR_TYPE)
_END = "the end of an OpenAI call"
ABANDONED = "abandoned stream"
RAW = "X-Stainless-Raw-Response"

_metrics_globals = vars(_metrics_api)


class OpenAICall:
    """An instrumented call: its span is recorded, or there are metrics or events. Ends once.

    Attributes:
        attributes: The attributes of the span, besides those it started with.
        captured: Keeps the content, or None.
        context: The caller's context with the call's span as the current one.
        has_times: Whether its chunks may be measured.
        is_over: Whether it has ended.
        is_quiet: Whether it only makes its unsampled span current, for the calls inside of it.
        outer: The data of a call of `opentelemetry-util-genai` that it is part of, or None.
        span: Its span, or the current one if it has none of its own.
        started: The start time, by `perf_counter`.
        target: The `Target` that is called.
    """

    __slots__ = (
        *("_calls", "_chunks", "_has_chunk", "_is_open", "_measures", "_recording", "_served_model", "_token"),
        *("attributes", "captured", "context", "has_times", "is_over", "is_quiet", "outer", "span", "started"),
        *("target",),
    )
    _calls: prepared.PreparedCalls
    _chunks: Chunks | None
    _has_chunk: bool
    _is_open: bool
    _measures: bool
    _recording: bool
    _served_model: str | None
    _token: _Token | None
    attributes: dict[str, Any]
    captured: Captured | None
    context: Context
    has_times: bool
    is_over: bool
    is_quiet: bool
    outer: object
    span: Span
    started: float
    target: prepared.Target

    def leave(self) -> None:
        """Restore the caller's context; the span goes on."""
        token = self._token
        if token is not None:
            restore(token)
            self._token = None

    def try_end_with(self, result: object, options: FinalRequestOptions, is_stream: bool) -> bool:
        """End a call with its result, if that is complete and of the usual kind; return whether it is."""
        if self.is_quiet:
            self.end()
            return True
        self.leave()
        if is_stream:
            return False
        headers = options.headers
        if type(headers) is dict and RAW in headers:
            return False
        self.answer(result)
        return True

    def answer(self, result: object, is_raw: bool = False) -> None:
        """End a call with an answer in one piece; a raw one is decoded JSON."""
        error: tuple[str | None, str | None] | None = None
        if not self.is_over:
            try:
                target = self.target
                if target.error is not None:
                    error = target.error(result)
                if not is_raw or target.has_result:
                    read(result, target.result, self.attributes)
                    if target.more is not None:
                        target.more(result, self.attributes)
                    if self.captured is not None:
                        self.captured.answer(result)
            except Exception as fault:
                faults.absorb_any("the answer of an OpenAI call", fault)
        error = error or (None, None)
        self.end(error[0], error[1])

    def stream(self) -> Chunks:
        """Prepare for a streamed answer; return the object that reads its chunks."""
        if not self.target.is_fetched:
            self.attributes[STREAM] = True
        self._chunks = self.target.endpoint.chunks(self.attributes, self.captured)
        return self._chunks

    def set_served_model(self, model: str) -> None:
        """Set the model that answered, regardless of what the answer says."""
        self.attributes[RESPONSE_MODEL] = self._served_model = model

    def early_chunk(self, seconds: float) -> BoundHistogram | None:
        """Measure a chunk before all attributes of the metric are known; return what measures all further ones."""
        attributes = self.attributes
        is_first = not self._has_chunk
        self._has_chunk = True
        if is_first and not self.target.is_fetched:
            attributes[TIME_TO_FIRST_CHUNK] = seconds
        if not self._measures or self.outer is not None:
            self.has_times = False
            return None
        found = self.target.series(attributes, _ERROR_AND_MODEL)
        bound = found.first_chunk if is_first else found.next_chunk
        bound.record(seconds, self.context)
        return found.next_chunk if RESPONSE_MODEL in attributes else None

    def fail(self, error: BaseException) -> None:
        """End a call that raised, or one whose beginning or end was interrupted."""
        self.leave()
        if self.is_over:
            self._end_span()
            return
        self.end(*named(error))

    def abandon(self) -> None:
        """End a call that can no longer be continued."""
        self.end(OTHER_ERROR, ABANDONED)

    def end(self, error: str | None = None, message: str | None = None) -> None:
        """End the call, unless it has ended.

        Args:
            error: Its `error.type`, if it failed.
            message: The description of the span's status.
        """
        if self.is_over:
            return
        self.is_over = True
        try:
            self.leave()
            if not self.is_quiet:
                self._record_outcome(error, message)
        except BaseException as fault:
            self._end_after(fault)
            return
        self._end_span()

    def _end_after(self, fault: BaseException) -> None:
        """Finish an end that was interrupted, or in which our code failed."""
        try:
            faults.absorb_any(_END, fault)
        finally:
            # As in `faults.absorb`.
            del fault
            self.leave()
            self._end_span()

    def _end_span(self) -> None:
        """End the span, if the call started one that needs an end."""
        if self._is_open:
            end_span(self.span, _END)
        self._is_open = False

    def _record_outcome(self, error: str | None, message: str | None) -> None:
        """Record the outcome of the call. Each step is done even if the one before failed."""
        seconds = perf_counter() - self.started
        attributes = self.attributes
        target = self.target
        calls = self._calls
        which = target.series_names
        if self._chunks is not None:
            which = _ERROR_AND_MODEL
            try:
                self._chunks.finish()
            except Exception as fault:
                faults.absorb_any(_END, fault)
        if self._served_model is not None:
            attributes[RESPONSE_MODEL] = self._served_model
        if error is not None:
            attributes[ERROR_TYPE] = error
        if self.outer is not None:
            calls.telemetry.publish(self, which)
            return
        try:
            if self._measures:
                self._measure(seconds, which)
        except Exception as fault:
            faults.absorb_any(_END, fault)
        try:
            if self._recording:
                self._describe(error, message)
        except Exception as fault:
            faults.absorb_any(_END, fault)
        if calls.always:
            calls.telemetry.tell(self)

    def _describe(self, error: str | None, message: str | None) -> None:
        """Set the span's attributes and status."""
        if error is not None:
            self.span.set_status(Status(StatusCode.ERROR, message))
        if self.captured is not None and self._calls.on_span:
            self.span.set_attributes(self._calls.telemetry.with_content(self))
        else:
            self.span.set_attributes(self.attributes)

    def _measure(self, seconds: float, which: tuple[str, ...]) -> None:
        attributes = self.attributes
        found = self.target.series(attributes, which)
        found.duration.record(seconds, self.context)
        count = attributes.get(INPUT_TOKENS)
        if is_count(count):
            found.input.record(count, self.context)
        count = attributes.get(OUTPUT_TOKENS)
        if is_count(count):
            found.output.record(count, self.context)


def new_call() -> OpenAICall:
    """A call that has not begun: whoever keeps it can end it, wherever an exception interrupts its beginning."""
    call = OpenAICall.__new__(OpenAICall)
    call.is_over = True
    call._is_open = False
    call._token = None
    call.span = INVALID_SPAN
    return call


def begin(
    call: OpenAICall, telemetry: OpenAITelemetry, client: OpenAI | AsyncOpenAI, options: FinalRequestOptions
) -> bool:
    """Begin a call; False if it is not instrumented, or after an error in our code."""
    try:
        # A client that Logfire instruments has its span.
        if is_suppressed() or getattr(client, "_is_instrumented_by_logfire", False) is True:
            return False
        calls = telemetry.calls
        if calls.replacements.exist():
            return False
        measures = calls.has_meter or _metrics_globals["_METER_PROVIDER"] is not None
        listens = measures or calls.always
        context = current()
        body = body_of(options)
        target = _target(calls, client, options, body)
        if target is None:
            return False
        outer = context.get(target.nests) if context and target.nests else None
        if outer is None:
            # From here on, the call can be ended: it has the span as soon as there is one.
            call._is_open = True
            start = target.start if target.started is None else target.started(target.start, options)
            call.span = span = start_if_kept(calls.tracer, calls.kind, target.name, start, None)
            if span is None:
                # Without an SDK, or if the sampler certainly drops the span.
                call.span = INVALID_SPAN
                if not listens:
                    return False
                # A copy: a tracer of other code may add to what it is given, which all calls of the target have.
                call.span = calls.tracer.start_span(target.name, None, calls.kind, {**start})
        _open(call, calls, target, context, outer, measures, listens)
    except Exception as fault:
        faults.absorb_any("the beginning of an OpenAI call", fault)
        # The host's call is not instrumented, so nothing else will end the span.
        call.leave()
        call.is_over = True
        call._end_span()
        return False
    if not call.is_quiet:
        try:
            _read_request(call, calls, target, options, body)
        except BaseException as fault:
            absorb_during("the request of an OpenAI call", call, fault)
    return True


def _target(
    calls: prepared.PreparedCalls, client: OpenAI | AsyncOpenAI, options: FinalRequestOptions, body: dict[str, object]
) -> prepared.Target | None:
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        model = None
    url = client._base_url
    key = (options.method, options.url, id(url), type(client), model)
    # A subclass of str, such as an enum, may equal another model without being shown like it.
    found = get_item(calls.targets, key) if model is None or type(model) is str else None
    return calls.telemetry.target(key, url) if found is None else found


def _open(
    call: OpenAICall,
    calls: prepared.PreparedCalls,
    target: prepared.Target,
    context: Context,
    outer: object,
    measures: bool,
    listens: bool,
) -> None:
    """Begin an instrumented call, whose span has started. Making that current is the last step."""
    span = call.span
    call._calls = calls
    call._measures = measures
    call.captured = call._served_model = call._chunks = None
    call.target = target
    call.outer = outer
    call.attributes = {}
    call.context = context
    call._has_chunk = False
    call.has_times = call._recording = True
    if outer is None:
        call._is_open = type(span) is not NonRecordingSpan
        call._recording = call._is_open and span.is_recording()
        call.context = with_span(context, span)
    else:
        call.span = context.get(_SPAN_KEY, INVALID_SPAN)  # type: ignore[assignment]  # under the key of spans
        call.attributes.update(target.start)
    call.is_quiet = not (call._recording or listens)
    call.started = perf_counter()
    call.is_over = False
    if outer is None:
        call._token = attach_context(call.context)


def _read_request(
    call: OpenAICall,
    calls: prepared.PreparedCalls,
    target: prepared.Target,
    options: FinalRequestOptions,
    body: dict[str, object],
) -> None:
    """Set the attributes of the request."""
    if call._recording or calls.events:
        attributes = call.attributes
        if target.fixed:
            attributes.update(target.fixed)
        read_body(body, target.request, attributes)
        if target.is_inference and CONVERSATION not in attributes:
            conversation = calls.telemetry.conversation(call.context)
            if conversation is not None:
                attributes[CONVERSATION] = conversation
        if target.options is not None:
            target.options(options, attributes)
    if target.shape is not None and calls.captures:
        call.captured = calls.telemetry.capture(target.shape, body)
