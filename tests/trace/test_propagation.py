"""The traceparent header is read and written as stock's propagator does, on both cores."""

from __future__ import annotations

import gc
import weakref

import free_threading
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context.context import Context
from opentelemetry.propagators.textmap import DefaultGetter, DefaultSetter, default_getter, default_setter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags, TraceState

from otel_fastpath import compiled as cores
from otel_fastpath.compiled import traceparent

HEADER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STOCK = TraceContextTextMapPropagator()
hexadecimal = st.text("0123456789abcdef", min_size=1)
# A well-formed header, or one with some characters exchanged, taken out or put in.
changes = st.lists(
    st.tuples(st.integers(0, 55), st.integers(0, 2), st.text("0fgAF-_ +x\t\u0660\u00e9", max_size=3)), max_size=3
)


class Getter(DefaultGetter):
    """One of the user's own."""


class Setter(DefaultSetter):
    """One of the user's own."""


class Renamed(TraceContextTextMapPropagator):
    """A propagator with other headers."""

    _TRACEPARENT_HEADER_NAME = "x-traceparent"
    _TRACESTATE_HEADER_NAME = "x-tracestate"


@pytest.fixture
def fast(core):
    """A propagator of each core; `fast.stock` says how often stock's had to do the work."""
    hot = cores.load("trace.propagation.trace_context", core)
    return make_fast(hot, TraceContextTextMapPropagator)


def make_fast(hot, base):
    """The methods as they are put on stock's class, on a class of its own that passes for it."""

    class Fast:
        stock = 0

        def extract(self, *args, **kwargs):
            return extract(STOCK if base is TraceContextTextMapPropagator else base(), *args, **kwargs)

        def inject(self, *args, **kwargs):
            inject(STOCK if base is TraceContextTextMapPropagator else base(), *args, **kwargs)

    made = Fast()

    def counted(method):
        def call(*args):
            made.stock += 1
            return method(*args)

        return call

    extract = hot.make_extract(counted(TraceContextTextMapPropagator.extract))
    inject = hot.make_inject(counted(TraceContextTextMapPropagator.inject))
    return made


def seen(context):
    """What a context holds, by value."""
    span = trace.get_current_span(context)
    parent = span.get_span_context()
    return type(context), len(context), type(span), type(parent), tuple(parent), type(parent.trace_flags)


def changed(header, edits):
    """The header after the edits."""
    for at, taken, put in edits:
        header = header[:at] + put + header[at + taken :]
    return header


def test_the_common_header_is_read_without_stock(fast):
    """Version 00, lower case, no trace state."""
    found = fast.extract({"traceparent": HEADER})
    assert seen(found) == seen(STOCK.extract({"traceparent": HEADER}))
    assert trace.get_current_span(found).get_span_context().is_remote
    assert fast.stock == 0


@settings(max_examples=400, deadline=None)
@given(
    hexadecimal.map(lambda text: text.rjust(32, "0")[:32]),
    hexadecimal.map(lambda text: text.rjust(16, "0")[:16]),
    hexadecimal.map(lambda text: text.rjust(2, "0")[:2]),
    changes,
)
def test_any_header_is_read_as_stock_reads_it(trace_id, span_id, flags, edits):
    """Also what is nearly right."""
    carrier = {"traceparent": changed(f"00-{trace_id}-{span_id}-{flags}", edits)}
    expected = seen(STOCK.extract(carrier))
    for core in available():
        fast = make_fast(cores.load("trace.propagation.trace_context", core), TraceContextTextMapPropagator)
        assert seen(fast.extract(carrier)) == expected, core


def available():
    """The cores that are there."""
    cores.choose(None)
    return ["py", "c"] if cores.implementation()[0] == "c" else ["py"]


@pytest.mark.proves("propagation.extract")
@pytest.mark.parametrize(
    "carrier",
    [
        {},
        {"traceparent": None},
        {"traceparent": ""},
        {"traceparent": [HEADER]},
        {"traceparent": [HEADER, HEADER]},
        {"traceparent": []},
        {"traceparent": (HEADER,)},
        {"traceparent": HEADER, "tracestate": "a=1,b=2"},
        {"traceparent": HEADER, "tracestate": ["a=1", "b=2"]},
        {"traceparent": HEADER, "tracestate": None},
        {"traceparent": HEADER, "tracestate": ""},
        {"traceparent": HEADER.replace("00-", "01-", 1)},
        {"traceparent": HEADER.replace("00-", "ff-", 1)},
        {"traceparent": f"{HEADER}-more"},
        {"traceparent": f" {HEADER}\t"},
        {"traceparent": HEADER.upper()},
        {"traceparent": "00-" + "0" * 32 + "-b7ad6b7169203331-01"},
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01"},
        {"Traceparent": HEADER},
    ],
    ids=str,
)
@pytest.mark.parametrize("getter", [default_getter, Getter()], ids=["default", "own"])
@pytest.mark.parametrize("context", [None, Context(), Context({"key": "value"}), {"no": "context"}], ids=str)
def test_any_carrier_is_read_as_stock_reads_it(fast, carrier, getter, context):
    """Missing, several, with a trace state, into any context; and the given context is left alone."""
    before = None if context is None else dict(context)
    assert seen(fast.extract(carrier, context, getter)) == seen(STOCK.extract(carrier, context, getter))
    assert (None if context is None else dict(context)) == before


def test_what_a_getter_raises_reaches_the_caller(fast):
    """It is the host's fault, not ours."""

    class Broken(DefaultGetter):
        def get(self, carrier, key):
            raise KeyError(key, carrier)

    with pytest.raises(KeyError, match="traceparent"):
        fast.extract({}, None, Broken())


@pytest.mark.proves("propagation.inject")
@pytest.mark.parametrize("flags", [*map(TraceFlags, (0, 1, 2, 3, 255, 256)), -1, True], ids=repr)
@pytest.mark.parametrize("state", [None, TraceState(), TraceState([("a", "1")])], ids=str)
@pytest.mark.parametrize("ids", [(1, 1), (2**128 - 1, 2**64 - 1), (2**128, 1), (1, 2**64), (0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize("setter", [default_setter, Setter()], ids=["default", "own"])
def test_any_span_context_is_written_as_stock_writes_it(fast, flags, state, ids, setter):
    """Valid or not, with a trace state or without."""
    own = SpanContext(*ids, is_remote=False, trace_flags=flags, trace_state=state)
    context = trace.set_span_in_context(NonRecordingSpan(own), Context())
    expected, written = {}, {}
    STOCK.inject(expected, context, setter)
    fast.inject(written, context, setter)
    assert written == expected


def test_the_common_header_is_written_without_stock(fast):
    """Of the current span, or of the one in a context; of a recording span or of a remote parent."""
    with TracerProvider().get_tracer("test").start_as_current_span("span") as span:
        expected, written = {}, {}
        STOCK.inject(expected)
        fast.inject(written)
        assert written == expected != {}
        remote = trace.set_span_in_context(fast_remote(), trace.set_span_in_context(span))
        fast.inject(written, remote)
    assert written == {"traceparent": HEADER}
    assert fast.stock == 0


def fast_remote():
    """The span of HEADER."""
    return trace.get_current_span(STOCK.extract({"traceparent": HEADER}))


@pytest.mark.parametrize("value", [INVALID_SPAN, None, "no span"], ids=["invalid", "none", "text"])
def test_where_there_is_no_span_nothing_is_written(fast, value):
    """A context holds anything under the key."""
    carrier = {}
    fast.inject(carrier, context_api.set_value(trace.propagation._SPAN_KEY, value, Context()))
    fast.inject(carrier, Context())
    assert carrier == {}


def test_a_propagator_with_other_headers_keeps_them(core):
    """Stock's methods read their names from the object."""
    fast = make_fast(cores.load("trace.propagation.trace_context", core), Renamed)
    carrier = {}
    fast.inject(carrier, trace.set_span_in_context(fast_remote(), Context()))
    assert carrier == {"x-traceparent": HEADER}
    assert seen(fast.extract(carrier)) == seen(STOCK.extract({"traceparent": HEADER}))
    assert seen(fast.extract({"traceparent": HEADER})) == seen(Context())


@free_threading.frees_classes_and_functions
def test_a_class_for_every_span_does_not_fill_the_memory(fast):
    """A few types are known to be spans, and kept; more are asked each time, and are right."""
    kinds = weakref.WeakSet()
    for number in range(200):
        kind = type(f"Span{number}", (NonRecordingSpan,), {})
        kinds.add(kind)
        carrier = {}
        span = kind(SpanContext(1, number + 1, is_remote=False))
        fast.inject(carrier, trace.set_span_in_context(span, Context()))
        assert carrier["traceparent"].startswith(f"00-{1:032x}-{number + 1:016x}-")
    del kind, span
    gc.collect()
    assert fast.stock == 0
    assert len(kinds) < 100


STATE = {"tracestate": "a=1"}


@pytest.mark.parametrize("context", [None, Context({"key": "value"})], ids=str)
@pytest.mark.parametrize(
    "carrier",
    [
        {},
        STATE,
        {"traceparent": HEADER},
        {"traceparent": HEADER, **STATE},
        {"traceparent": HEADER.replace("00-", "01-", 1), **STATE},
        {"traceparent": HEADER.replace("00-", "ff-", 1), **STATE},
        {"traceparent": f"{HEADER}-more", **STATE},
        {"traceparent": HEADER.upper(), **STATE},
        {"traceparent": "nothing of the kind", **STATE},
        {"traceparent": (HEADER,), **STATE},
        {"traceparent": [], **STATE},
    ],
    ids=str,
)
def test_a_getter_is_asked_as_often_as_stock_asks_it(fast, carrier, context):
    """For each header once, in the same order: who reads a header may use it up. A dict's getter is no other."""

    class Asked(DefaultGetter):
        def __init__(self):
            self.keys = []

        def get(self, carrier, key):
            self.keys.append(key)
            return super().get(carrier, key)

    ours, stocks = Asked(), Asked()
    found, expected = fast.extract(carrier, context, ours), STOCK.extract(carrier, context, stocks)

    assert ours.keys == stocks.keys
    assert seen(found) == seen(expected)


@pytest.mark.parametrize("getter", [default_getter, Getter()], ids=["default", "own"])
def test_a_request_without_a_header_does_not_need_stock(fast, getter):
    """It gives the context that was handed over, or an empty one."""
    context = Context({"key": "value"})

    assert fast.extract({"other": "header"}, context, getter) is context
    assert seen(fast.extract({"other": "header"}, None, getter)) == seen(STOCK.extract({}))
    assert fast.stock == 0


@pytest.mark.parametrize(("read", "called"), [("read_traceparent", "_fromhex"), ("read_hexadecimal", "int")])
def test_a_time_limit_while_a_number_is_read(monkeypatch, read, called):
    """It may be a ValueError, too, and is the application's. The compiled core calls nothing there."""

    def limited(*_given):
        raise ValueError("time limit")

    text = {"read_traceparent": HEADER, "read_hexadecimal": "0a"}[read]
    monkeypatch.setattr(traceparent, called, limited, raising=False)
    with pytest.raises(ValueError, match="time limit"):
        getattr(traceparent, read)(text)
    monkeypatch.undo()
    assert getattr(traceparent, read)(text) is not None
    assert getattr(traceparent, read)(text.replace("0a", "zz")) is None
