"""The queries of drivers that only the stock instrumentation of the DB-API knows: what it finds out is kept.

Its own functions find the attributes of a text, once for each text and server. Compiled as `execution_c`.
"""

from __future__ import annotations

from sys import getsizeof
from time import perf_counter
from typing import Any

from opentelemetry.instrumentation import dbapi as stock
from opentelemetry.trace import SpanKind

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.db.dbapi.template import STOCK
from otel_fastpath.db.stand_ins import CollectedAttributes
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import Cache
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.wrapping.call_span import is_suppressed

_PLACE = "a query of a driver of the DB-API"
# Where a stock integration has its `Texts`.
_KEPT = "_otel_fastpath_texts"
# How many bytes the texts of one integration take, the longest of them, and what one takes beside its text. Stock's
# `instrument_connection` makes an integration for each connection.
_MOST_BYTES = 1 << 18
_LONGEST_BYTES = 1 << 14
_TEXT_BYTES = 2048
_CLIENT = SpanKind.CLIENT
_Tracer = stock.CursorTracer
# Before 0.63b0, there are no metrics, and no server is known for them.
_MEASURES = hasattr(_Tracer, "_record_metrics")
# What is not called for each query: other code may replace it.
_facts = Facts(UNKNOWN)


class Text:
    """What follows from one text.

    Attributes:
        operation: The operation, as stock's metrics have it.
        name: The name of the span.
        attributes: Its attributes.
        duration: Records the duration of a query that succeeded; None: there are no metrics.
        rows: Records the number of its rows; likewise.
    """

    __slots__ = ("attributes", "duration", "name", "operation", "rows")

    def __init__(self, tracer: Any, cursor: Any, text: str) -> None:
        integration = tracer._db_api_integration
        # Stock splits the whole text, which may be long, and raises an IndexError if there is nothing but a comment.
        words = tracer._leading_comment_remover.sub("", text).split(maxsplit=1)
        self.operation = words[0] if words else ""
        self.name = self.operation or integration.database or integration.name
        collected = CollectedAttributes()
        tracer._populate_span(collected, cursor, text)
        self.attributes = dict(collected)
        self.duration = self.rows = None
        if _MEASURES and integration._duration_histogram is not None:
            attributes = tracer._get_metric_attributes(self.operation, None)
            self.duration = bind(integration._duration_histogram, attributes)
            self.rows = bind(integration._returned_rows_histogram, attributes)


class Texts:
    """The texts of one integration.

    Args:
        state: What it knows of its server, which is that of its latest connection.
    """

    __slots__ = ("cache", "state")

    def __init__(self, state: tuple[Any, ...]) -> None:
        self.state = state
        self.cache = Cache(_MOST_BYTES, _LONGEST_BYTES)


def _state(integration: Any) -> tuple[Any, ...]:
    server = (integration._server_address, integration._server_port) if _MEASURES else ()
    return integration.database, integration.name, *server, integration.span_attributes.copy()


def find(tracer: Any, cursor: Any, args: tuple[Any, ...]) -> Text | None:
    """What follows from the text of a call; None if stock's own method has to run it. Never raises."""
    try:
        text = args[0] if args else None
        # Drivers with an instrumentation of their own have subclasses.
        if type(text) is not str or type(tracer) is not _Tracer or tracer._commenter_enabled:
            return None
        if is_suppressed() or not (_facts.hold() or STOCK.holds_again(_facts)):
            return None
        integration = tracer._db_api_integration
        texts, state = integration.__dict__.get(_KEPT), _state(integration)
        if texts is None or texts.state != state:
            texts = integration.__dict__[_KEPT] = Texts(state)
        found = texts.cache.items.get(text)
        if found is None:
            found = Text(tracer, cursor, text)
            # Another thread may have connected to another server meanwhile: this call may tell that one, as stock's
            # does, but no later call.
            if _state(integration) == state:
                texts.cache.keep(text, found, getsizeof(text) + _TEXT_BYTES)
    except Exception as fault:
        faults.absorb_any(_PLACE, fault)
        return None
    return found


def run(tracer: Any, found: Text, cursor: Any, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call as stock does, with what `find` returned."""
    with tracer._db_api_integration._tracer.start_as_current_span(found.name, kind=_CLIENT) as span:
        _describe(span, tracer, found, args)
        start, error = perf_counter(), None
        try:
            return method(*args, **kwargs)
        except Exception as raised:
            error = raised
            raise
        finally:
            _record(tracer, cursor, found, start, error)
            # An exception and its traceback's frame would refer to each other.
            error = None


def _describe(span: Any, tracer: Any, found: Text, args: tuple[Any, ...]) -> None:
    try:
        if span.is_recording():
            # A copy: other code's method may add to what it is given, which all queries with this text have.
            span.set_attributes({**found.attributes})
            if len(args) > 1 and tracer._db_api_integration.capture_parameters:
                span.set_attribute("db.statement.parameters", str(args[1]))
    except Exception as fault:
        faults.absorb_any(_PLACE, fault)


def _record(tracer: Any, cursor: Any, found: Text, start: float, error: Exception | None) -> None:
    """Record the duration, and the number of rows of a query that succeeded."""
    try:
        if error is not None and _MEASURES:
            tracer._record_metrics(cursor, found.operation, start, error)
        elif found.duration is not None:
            found.duration.record(perf_counter() - start)
            rows = getattr(cursor, "rowcount", None)
            if found.rows is not None and isinstance(rows, int) and rows >= 0:
                found.rows.record(rows)
    except Exception as fault:
        faults.absorb_any(_PLACE, fault)
