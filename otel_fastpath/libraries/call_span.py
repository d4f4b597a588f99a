"""One call of a library that is wrapped: begun, current while the host runs, ended. Compiled as `call_span_c`.

`Call` is what `otel_fastpath.libraries.call` says; `Query` is the same for a database, where names and attributes are
ready for each text and connection before the call.
"""

from __future__ import annotations

from time import perf_counter, time_ns
from typing import Any

from opentelemetry import context as _context_api
from opentelemetry import trace as _trace_api
from opentelemetry.metrics import _internal as _metrics_api
from opentelemetry.trace import NonRecordingSpan, ProxyTracer, get_current_span
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.libraries.failure import described, tell
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import absorbed
from otel_fastpath.trace.current_context import attach, attach_upstreams_way, current, restore
from otel_fastpath.trace.identity import Dropped

_BEGINNING = "the beginning of a wrapped call"
_END = "the end of a wrapped call"
# The second was the first's name before it became a key of its own; upstream's instrumentations honour both.
_SUPPRESS = _context_api._SUPPRESS_INSTRUMENTATION_KEY
_SUPPRESS_PLAIN = "suppress_instrumentation"
_trace_globals = vars(_trace_api)
_metrics_globals = vars(_metrics_api)

# How the rows of a result are counted.
NO_ROWS, ALL_ROWS, ONE_ROW, ONE_VALUE = 0, 1, 2, 3
# Of a method's arguments: the connection and the text.
_BEFORE_ARGUMENTS = 2

# See `watch_tracer`.
_tracer_class: Any = None
_our_start_span: Any = None
_spans: Any = None


def watch_tracer(tracer_class: Any, start_span: Any, spans: Any) -> None:
    """Say what starts a span of the SDK's unless it would be dropped; a call needs none then.

    Args:
        tracer_class: `opentelemetry.sdk.trace.Tracer`; None: it is upstream's own again.
        start_span: What stands in its place for as long as nobody wraps it.
        spans: A `trace.start.KeptSpans`; None with it.
    """
    global _tracer_class, _our_start_span, _spans
    _tracer_class = tracer_class
    _our_start_span = start_span
    _spans = spans


class Call:
    """One call of the host that is looked at. Made by `begin`; its attributes are those of `call`."""

    __slots__ = ("_is_ours", "_started", "_telemetry", "_token", "is_held", "recording", "series", "span")

    def leave(self) -> None:
        """Restore the context; the span goes on."""
        token = self._token
        if token is not None:
            self._token = None
            restore(token)

    def end(self) -> None:
        """End the span and record the duration of a call that succeeded."""
        if self._telemetry is None:
            return
        self._telemetry = None
        self.leave()
        if self.series is not None:
            try:
                bound = self.series.bound
                bound.record(perf_counter() - self._started)
            except Exception as fault:
                faults.report(_END, fault)
        self._end_span()

    def fail(self, error: Any) -> None:
        """End the span and record the duration of a call that raised this."""
        telemetry = self._telemetry
        if telemetry is None:
            return
        self._telemetry = None
        self.leave()
        failure = described(_END, telemetry.describe, error)
        if self.series is not None:
            try:
                seconds = perf_counter() - self._started
                if failure.type:
                    self.series.record_failed(seconds, failure)
                else:
                    self.series.bound.record(seconds)
            except Exception as fault:
                faults.report(_END, fault)
        if self.recording and failure.type:
            tell(_END, self.span, failure, error)
        self._end_span()

    def _end_span(self) -> None:
        """End the span, where it is the call's own."""
        if not self._is_ours:
            return
        try:
            self.span.end()
        except Exception as fault:
            faults.report(_END, fault)


class Plan:
    """What a query with one text needs on one server, ready made.

    Attributes:
        name: Of the span.
        attributes: Of the span at its start; nobody changes them.
        series: Where the duration goes; None: nowhere.
        rows: Where the number of rows goes; None: it is not wanted.
        is_quiet: Whether the query is not looked at.
    """

    __slots__ = ("attributes", "is_quiet", "name", "rows", "series")

    def __init__(self, name: Any, attributes: Any, series: Any, rows: Any, is_quiet: Any) -> None:
        self.name = name
        self.attributes = attributes
        self.series = series
        self.rows = rows
        self.is_quiet = is_quiet


class Link:
    """What one connection has.

    Attributes:
        active: The set-up that it is for.
        plans: Of its server and database; `plan(text)` makes one.
        queries: Those for queries: text -> plan.
        queries_with_arguments: Those for queries to which arguments are passed.
        call: The query that is going on.
        prepared: A statement that was prepared with no query around, a cursor's, and when that began.
    """

    __slots__ = (
        *("active", "call", "has_meter", "plans", "prepared", "queries", "queries_with_arguments", "telemetry"),
        "tracer",
    )

    def __init__(self, active: Any, plans: Any, queries: Any, queries_with_arguments: Any) -> None:
        self.active = active
        self.telemetry = active.telemetry
        self.tracer = active.telemetry.tracer
        self.has_meter = active.telemetry.has_meter
        self.plans = plans
        self.queries = queries
        self.queries_with_arguments = queries_with_arguments
        self.call = None
        self.prepared = None


class Query(Call):
    """A call that is a query on a connection.

    Attributes:
        link: The connection's.
        plan: What it was begun with.
    """

    __slots__ = ("kind", "link", "plan")

    def done(self, result: Any) -> None:
        """End a query that gave this result."""
        link = self.link
        if link.call is self:
            link.call = None
        if self.kind:
            try:
                if self.plan.rows is not None:
                    number = 1
                    if self.kind == ALL_ROWS:
                        number = len(result)
                    elif result is None:
                        number = -1 if self.kind == ONE_VALUE else 0
                    if number >= 0:
                        self.told(number)
            except BaseException as fault:
                absorbed(_END, self, fault)
        self.end()

    def told(self, number: Any) -> None:
        """Say how many rows were returned."""
        if self.plan.rows is not None and self.series is not None:
            self.plan.rows.record(number)
        if self.recording and self.link.active.options.rows:
            self.span.set_attribute("db.response.returned_rows", number)

    def failed(self, error: Any) -> None:
        """End a query that raised this."""
        if self.link.call is self:
            self.link.call = None
        self.fail(error)


class Queries:
    """Where the queries of one library begin.

    Args:
        keeper: The attribute of a connection that has the one that its `Link` is; None: the connection has it.
        name: Of that attribute; where there is no link it is not there, or something else.
        new_link: Makes one for a connection, which keeps it from then on.

    Attributes:
        active: The set-up: links of another are made anew; None: no query is looked at.
    """

    __slots__ = ("_keeper", "_name", "_new_link", "active")

    def __init__(self, keeper: Any, name: Any, new_link: Any) -> None:
        self.active = None
        self._keeper = keeper
        self._name = name
        self._new_link = new_link

    def enter(self, args: Any, kwargs: Any, kind: Any) -> Any:
        """Begin the query of a method of a connection.

        Args:
            args: The method's: the connection, then the text.
            kwargs: The method's; the text may be its `query`.
            kind: How the rows of the result are counted.

        Returns:
            The `Query`; None where nobody looks at it.
        """
        try:
            active = self.active
            if active is None or is_suppressed():
                return None
            connection = args[0]
            try:
                found = getattr(connection if self._keeper is None else getattr(connection, self._keeper), self._name)
            except AttributeError:
                found = None
            link = found if type(found) is Link else self._new_link(connection)
            if link.active is not active:
                link = self._new_link(connection)
            text = args[1] if len(args) > 1 else kwargs.get("query")
            # Arguments that are passed, and nothing in the text, say that its values are not in it.
            has_arguments = len(args) > _BEFORE_ARGUMENTS
            found = (link.queries_with_arguments if has_arguments else link.queries).get(text)
            if found is None:
                found = link.plans.plan(text, "", has_arguments)
            return open_query(link, found, kind, None)
        except Exception as fault:
            faults.report(_BEGINNING, fault)
            return None


def is_suppressed() -> bool:
    """Whether somebody asked for no telemetry in the current context."""
    context = current()
    # Mostly there is nothing but a span.
    if not context or (len(context) == 1 and _SPAN_KEY in context):
        return False
    return bool(context.get(_SUPPRESS) or context.get(_SUPPRESS_PLAIN))


def begin(telemetry: Any, name: Any, attributes: Any, series: Any = None, start_ns: Any = None) -> Any:
    """Start a span, make it the current one, start the clock; see `otel_fastpath.libraries.call`."""
    try:
        if is_suppressed():
            return None
        series = _metered(telemetry.has_meter, series)
        span = _start(telemetry.tracer, telemetry, name, attributes, start_ns)
        if span is None and series is None:
            return None
        call = Call.__new__(Call)
        _begin(call, telemetry, span, series, start_ns)
    except Exception as fault:
        faults.report(_BEGINNING, fault)
        return None
    return call


def _metered(has_meter: Any, series: Any) -> Any:
    """The series, if there is somebody who reads it."""
    if series is None or (not has_meter and _metrics_globals["_METER_PROVIDER"] is None):
        return None
    return series


def _start(tracer: Any, telemetry: Any, name: Any, attributes: Any, start_ns: Any) -> Any:
    """Start the span of a call, or return None: what has none is neither recorded nor propagated by anybody.

    Without an SDK, or where the sampler drops the span whatever it is, the current span stays the current one: of
    what it would be the parent of, as little is recorded.
    """
    if _is_ours(tracer):
        try:
            span = _spans.start(tracer, name, telemetry.kind, attributes, start_ns)
        except Exception as error:
            faults.absorb("Tracer.start_span", error)
        else:
            if span is not NotImplemented:
                return span
    elif type(tracer) is ProxyTracer and _trace_globals["_TRACER_PROVIDER"] is None and tracer._real_tracer is None:
        return None
    return tracer.start_span(name, None, telemetry.kind, attributes, (), start_ns)


def _is_ours(tracer: Any) -> Any:
    """Whether the tracer's `start_span` is the function of ours."""
    return type(tracer) is _tracer_class and _tracer_class.start_span is _our_start_span


def _begin(call: Any, telemetry: Any, span: Any, series: Any, start_ns: Any) -> None:
    """Begin a call that somebody looks at; the span is None where it has none. Making it the current one comes last."""
    call._telemetry = telemetry
    call._token = call.series = None
    call.recording = call.is_held = False
    call.span = get_current_span() if span is None else span
    # What is not sampled needs no end.
    call._is_ours = span is not None and not isinstance(span, Dropped) and type(span) is not NonRecordingSpan
    try:
        if series is not None:
            call._started = perf_counter()
            if start_ns is not None:
                call._started -= max(time_ns() - start_ns, 0) / 1e9
            call.series = series
        if span is not None:
            call.recording = call._is_ours and span.is_recording()
            call._token = attach(span)
    except BaseException as fault:
        _begin_without(call, span, fault)


def _begin_without(call: Any, span: Any, fault: Any) -> None:
    """Begin a call without what could not be made: what is called inside of it must find its span all the same."""
    try:
        absorbed(_BEGINNING, call, fault)
        if span is not None:
            call._token = attach_upstreams_way(span)
    except BaseException:
        # The host's call is not looked at, and nobody else will end the span.
        call._end_span()
        raise


def open_query(link: Any, plan: Any, kind: Any, start_ns: Any) -> Any:
    """Begin a query that is not suppressed; None where nobody looks at it: quiet, or inside another of the connection.

    Args:
        link: The connection's.
        plan: The text's.
        kind: How the rows of the result are counted.
        start_ns: When it began, in nanoseconds since the epoch; None: now.
    """
    around = link.call
    if plan.is_quiet or (around is not None and get_current_span() is around.span):
        return None
    series = _metered(link.has_meter, plan.series)
    span = _start(link.tracer, link.telemetry, plan.name, plan.attributes, start_ns)
    if span is None and series is None:
        return None
    call = Query.__new__(Query)
    call.link = link
    call.plan = plan
    call.kind = kind
    _begin(call, link.telemetry, span, series, start_ns)
    # Another task that uses the connection meanwhile is told so by the library: its call is a span of its own.
    if around is None:
        link.call = call
    return call
