"""One call of a wrapped library: it begins, is current while the host runs, and ends. Compiled as `call_span_c`.

`otel_fastpath.wrapping.call` describes `Call`; `QueryCall` is for databases, where a plan has names and attributes.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter, time_ns
from typing import Any

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.trace import NonRecordingSpan, get_current_span
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import INVALID_SPAN

from otel_fastpath.compiled.helpers import HOLDS_CHEAPLY, get_value, reset_value, set_item, set_value, with_value
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import absorb_during
from otel_fastpath.trace.context.current_context import attach, attach_as_stock, attach_context, current, restore
from otel_fastpath.trace.spans.identity import Dropped
from otel_fastpath.wrapping.failure import describe_error, put_failure
from otel_fastpath.wrapping.starting import end_span, is_recording, metered, start_if_kept

_BEGINNING = "the beginning of a wrapped call"
_END = "the end of a wrapped call"
# The second is the older name of the first; stock's instrumentations check both.
_SUPPRESS = _context_api._SUPPRESS_INSTRUMENTATION_KEY
_SUPPRESS_PLAIN = "suppress_instrumentation"
# In the context in which a library calls its driver: the library's call. See `db.outer`.
OUTER = _context_api.create_key("otel_fastpath_outer_call")
# The query without a span of its own that is in progress here: the current span does not show it.
_spanless: ContextVar[Any] = ContextVar("otel_fastpath_spanless_query", default=None)

# How the rows of a result are counted.
NO_ROWS, ALL_ROWS, ONE_ROW, ONE_VALUE = 0, 1, 2, 3


class Call:
    """One instrumented call of the host. Made by `new_call`.

    Attributes:
        span: Its span; a non-recording one if it was not sampled.
        recording: Whether the span records attributes.
        series: Records the duration; None: it is not recorded.
    """

    __slots__ = ("_is_ours", "_started", "_telemetry", "_token", "recording", "series", "span")

    def leave(self) -> None:
        """Restore the context; the span goes on."""
        if self._token is not None:
            restore(self._token)
            self._token = None

    def end(self) -> None:
        """End the span and record the duration of a call that succeeded."""
        if self._telemetry is None:
            return
        try:
            self.leave()
            if self.series is not None:
                series, self.series = self.series, None
                bound = series.bound
                bound.record(perf_counter() - self._started)
        except BaseException as fault:
            self._end_after(fault)
            return
        self._end_span()

    def fail(self, error: Any) -> None:
        """End the span and record the duration of a call that raised this."""
        telemetry = self._telemetry
        if telemetry is None:
            return
        try:
            self.leave()
            failure = describe_error(_END, telemetry.describe, error)
            if self.series is not None:
                self._record_failed(failure)
            if self.recording and failure.type:
                put_failure(_END, self.span, failure, error)
        except BaseException as fault:
            self._end_after(fault)
            return
        self._end_span()

    def _record_failed(self, failure: Any) -> None:
        """Record the duration of a call that failed."""
        series, self.series = self.series, None
        try:
            seconds = perf_counter() - self._started
            if failure.type:
                series.record_failed(seconds, failure)
            else:
                series.bound.record(seconds)
        except Exception as fault:
            faults.absorb_any(_END, fault)

    def _end_after(self, fault: Any) -> None:
        """Finish an end that was interrupted, or in which our code failed."""
        try:
            faults.absorb_any(_END, fault)
        finally:
            self.leave()
            self._end_span()

    def _end_span(self) -> None:
        """End the span, if the call started one that needs an end."""
        if self._is_ours:
            end_span(self.span, _END)
        self._telemetry = None


class QueryPlan:
    """What the queries with one text on one server have in common, made once.

    Attributes:
        name: The name of the span.
        attributes: The attributes of the span at its start; they must not be changed.
        series: Records the duration; None: it is not recorded.
        rows: Records the number of rows; None: it is not recorded.
        is_quiet: Whether the query is not instrumented.
        summary: What its repetitions are counted by; empty: they are not counted.
    """

    __slots__ = ("attributes", "is_quiet", "name", "rows", "series", "summary")

    def __init__(self, name: Any, attributes: Any, series: Any, rows: Any, is_quiet: Any, summary: Any = "") -> None:
        self.name, self.attributes, self.series, self.rows = name, attributes, series, rows
        self.is_quiet, self.summary = is_quiet, summary


class ConnectionPlan:
    """What is stored for one connection.

    Attributes:
        active: The set-up that it was made for.
        plans: The plans for its server and database; `plan(text)` makes one.
        queries: The plans of queries by their text.
        queries_with_arguments: The plans of queries to which arguments are passed, by their text.
        call: The current query.
        prepared: A statement that was prepared outside of any query, for a cursor, and when that began.
        slow: The duration of a query, in seconds, from which on it is told as a slow one; 0: none is.
        count: Called with the span of a query and its summary; None: repetitions are not counted.
        is_driver: Whether queries can be part of one of a library above; see `db.outer`.
    """

    __slots__ = (
        *("active", "call", "has_meter", "plans", "prepared", "queries", "queries_with_arguments", "telemetry"),
        *("count", "is_driver", "slow", "tracer"),
    )

    def __init__(self, active: Any, plans: Any, queries: Any, queries_with_arguments: Any) -> None:
        self.active, self.telemetry = active, active.telemetry
        self.tracer, self.has_meter = self.telemetry.tracer, self.telemetry.has_meter
        self.plans, self.queries, self.queries_with_arguments = plans, queries, queries_with_arguments
        self.call = self.prepared = None
        self.slow, self.count, self.is_driver = active.slow, active.count, active.is_driver


class QueryCall(Call):
    """A call that is a query on a connection.

    A query without a span of its own is marked in a context variable: its `span` may be the current one in other
    threads and tasks, too. Without an SDK, a tracer returns the surrounding span, or one that is the same for all.

    Attributes:
        connection_plan: The connection's `ConnectionPlan`.
        plan: The `QueryPlan` of the query.
        has_more: Whether a wrapper has more to do than to call the host's method; see `db.entering`.
        is_timed: Whether it may be slow; only then it has `began`, by `perf_counter`, and its `parameters`, or None.
    """

    __slots__ = ("_mark", "began", "connection_plan", "has_more", "is_timed", "kind", "parameters", "plan")

    def leave(self) -> None:
        """Restore the context; the query goes on."""
        if self._token is not None:
            restore(self._token)
            self._token = None
        if self._mark is not None:
            self._unmark()

    def _unmark(self) -> None:
        try:
            reset_value(_spanless, self._mark)
        except (ValueError, RuntimeError) as fault:
            # An abandoned coroutine is closed in another context, where there is nothing to undo; an exception may have
            # arrived after this was done.
            faults.raise_interruption(fault)
        except Exception as fault:
            faults.absorb_any(_END, fault)
        self._mark = None

    def done(self, result: Any) -> None:
        """End a query that returned this result."""
        if self.connection_plan.call is self:
            self.connection_plan.call = None
        if self.is_timed:
            self._look_back()
        if self.kind:
            try:
                if self.plan.rows is not None:
                    number = 1
                    if result is None:
                        number = 0 if self.kind == ONE_ROW else -1
                    elif self.kind == ALL_ROWS:
                        number = len(result)
                    if number >= 0:
                        self.record_rows(number)
            except BaseException as fault:
                absorb_during(_END, self, fault)
        self.end()

    def record_rows(self, number: Any) -> None:
        """Record how many rows were returned."""
        if self.plan.rows is not None and self.series is not None:
            self.plan.rows.record(number)
        if self.recording and self.connection_plan.active.options.rows:
            self.span.set_attribute("db.response.returned_rows", number)

    def end_failed(self, error: Any) -> None:
        """End a query that raised this; nothing is done for one that has not begun, or has ended."""
        if self.connection_plan is not None and self.connection_plan.call is self:
            self.connection_plan.call = None
        if self.is_timed:
            self._look_back()
        self.fail(error)

    def _look_back(self) -> None:
        """Tell whether the query was slow."""
        self.is_timed = False
        try:
            if perf_counter() - self.began >= self.connection_plan.slow:
                self.connection_plan.active.put_slow(self.span, self.parameters)
        except BaseException as fault:
            absorb_during(_END, self, fault)


def is_suppressed() -> bool:
    """Whether instrumentation is suppressed in the current context."""
    context = current()
    # Usually, there is nothing but a span.
    if not context or (len(context) == 1 and _SPAN_KEY in context):
        return False
    return bool(context.get(_SUPPRESS) or context.get(_SUPPRESS_PLAIN))


def outer_call() -> Any:
    """The call in progress of a library above the driver, which the driver's calls are part of, or None."""
    context = current()
    if not context or (len(context) == 1 and _SPAN_KEY in context):
        return None
    call = context.get(OUTER)
    # A task that copied the context may outlive the call, and a span may have been started inside of it.
    return None if call is None or call._telemetry is None or get_current_span() is not call.span else call


def new_call() -> Any:
    """A call that has not begun: whoever keeps it can end it, wherever an exception interrupts its beginning."""
    call = Call.__new__(Call)
    call._telemetry = call._token = call.series = None
    call.span = INVALID_SPAN
    call._is_ours = call.recording = False
    return call


def begin_call(call: Any, telemetry: Any, name: Any, attributes: Any, series: Any = None, start_ns: Any = None) -> bool:
    """Begin a call that `new_call` made; see `otel_fastpath.wrapping.call`. Returns whether it has begun."""
    try:
        if is_suppressed():
            return False
        series = metered(telemetry.has_meter, series)
        # From here on, the call can be ended: it has the span as soon as there is one.
        call._telemetry, call._is_ours = telemetry, True
        call.span = span = start_if_kept(telemetry.tracer, telemetry.kind, name, attributes, start_ns)
        if span is None:
            call._is_ours = False
            if series is None:
                call._telemetry = None
                return False
        _begin(call, span, series, start_ns)
    except Exception as fault:
        faults.absorb_any(_BEGINNING, fault)
        return False
    return True


def _begin(call: Any, span: Any, series: Any, start_ns: Any, is_outer: Any = False) -> None:
    """Begin an instrumented call; the span is None if it has none. Making the span current is the last step."""
    if span is None:
        call.span = get_current_span()
    else:
        # One that is not sampled needs no `end`.
        call._is_ours = not isinstance(span, Dropped) and type(span) is not NonRecordingSpan
    try:
        if series is not None:
            call._started = perf_counter()
            if start_ns is not None:
                call._started -= max(time_ns() - start_ns, 0) / 1e9
            call.series = series
        if span is not None:
            call.recording = call._is_ours and (is_recording(span) if HOLDS_CHEAPLY else span.is_recording())
        if is_outer:
            call._token = _attach_outer(call, span)
        elif span is not None:
            call._token = attach(span)
    except BaseException as fault:
        _begin_without(call, span, fault)


def _attach_outer(call: Any, span: Any) -> Any:
    context = with_value(Context, current(), OUTER, call)
    if span is not None:
        # Nobody else has it yet; later, a context must not change.
        set_item(context, _SPAN_KEY, span)
    token = attach_context(context)
    # An error was reported; the span is current at least.
    return attach(span) if token is None and span is not None else token


def _begin_without(call: Any, span: Any, fault: Any) -> None:
    """Begin a call after an error: its span must become current all the same, for the calls inside of it."""
    try:
        absorb_during(_BEGINNING, call, fault)
        if span is not None:
            call._token = attach_as_stock(span)
    except BaseException:
        # The host's call is not instrumented, so nothing else will end the span.
        call._end_span()
        raise


def watch(call: Any, start_ns: Any) -> None:
    """Start the clock of a query that may be slow, and count its repetitions."""
    connection_plan = call.connection_plan
    try:
        if connection_plan.slow:
            call.began = perf_counter()
            if start_ns is not None:
                call.began -= max(time_ns() - start_ns, 0) / 1e9
            call.parameters, call.is_timed = None, True
        if connection_plan.count is not None and call.plan.summary:
            connection_plan.count(call.span, call.plan.summary)
    except BaseException as fault:
        _begin_without(call, None, fault)


def new_query() -> Any:
    """A query that has not begun, see `new_call`."""
    call = QueryCall.__new__(QueryCall)
    call._telemetry = call._token = call._mark = call.series = call.connection_plan = None
    call.span = INVALID_SPAN
    call._is_ours = call.is_timed = call.recording = call.has_more = False
    return call


def open_query(call: Any, connection_plan: Any, plan: Any, kind: Any, start_ns: Any) -> bool:
    """Begin a query that is not suppressed.

    Args:
        call: What `new_query` made.
        connection_plan: The connection's `ConnectionPlan`.
        plan: The `QueryPlan` of the text.
        kind: How the rows of the result are counted.
        start_ns: When it began, in nanoseconds since the epoch; None: now.

    Returns:
        Whether it has begun; False if it is quiet, or part of another one of the connection or of `db.outer`.
    """
    around = connection_plan.call
    is_inside = around is not None and get_current_span() is around.span
    if is_inside and around._mark is not None:
        # Not of another thread or task at the same time.
        is_inside = get_value(_spanless) is around
    if plan.is_quiet or is_inside or (connection_plan.is_driver and outer_call() is not None):
        return False
    series = metered(connection_plan.has_meter, plan.series)
    call.connection_plan, call.plan, call.kind = connection_plan, plan, kind
    call._telemetry = telemetry = connection_plan.telemetry
    call._is_ours = True
    call.span = span = start_if_kept(connection_plan.tracer, telemetry.kind, plan.name, plan.attributes, start_ns)
    if span is None:
        call._is_ours = False
        if series is None:
            call._telemetry = None
            connection_plan.active.queries.is_dropping = True
            return False
    if span is None or type(span) is NonRecordingSpan:
        call._mark = set_value(_spanless, call)
    _begin(call, span, series, start_ns)
    if (connection_plan.slow or connection_plan.count is not None) and call.recording:
        watch(call, start_ns)
    # If another task uses the connection at the same time, the library raises an error; that call gets its own span.
    if around is None:
        connection_plan.call = call
    return True
