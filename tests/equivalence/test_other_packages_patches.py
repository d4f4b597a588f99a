"""What other packages are known to do behind OpenTelemetry's back works as it does with stock."""

from __future__ import annotations

import copy
import logging
from unittest import mock

import pytest
from opentelemetry import trace
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from sidebyside.compare import assert_same
from sidebyside.errors import plain
from sidebyside.processors import Keeping
from sidebyside.seeing import exported_span, seen
from sidebyside.setups import Setup


class _Hack(SpanProcessor):
    """Does one thing to each span that ends."""

    def __init__(self, hack):
        self._hack = hack

    def on_end(self, span):
        self._hack(span)


def _redact(span):
    span._attributes._dict["a"] = "***"


def _rebuild(span):
    span._attributes = BoundedAttributes(attributes={"rebuilt": True, **span.attributes})


def _assign_dict(span):
    span._attributes = {key: value for key, value in span.attributes.items() if key != "a"}


def _rename(span):
    span._name = f"renamed {span._name}"


def _drop_events(span):
    span._events = [event for event in span.events if event.name != "exception"]


def _shift_times(span):
    span._start_time -= 1
    span._end_time += 1


def _other_resource(span):
    span._resource = span.resource.merge(type(span.resource)({"service.name": "other"}))
    span._instrumentation_scope = InstrumentationScope("other")


def _clear_parent(span):
    span._parent = None


def _ok(span):
    span._status = trace.Status(trace.StatusCode.OK)


def _reset_context(span):
    context = span._context
    span._context = trace.SpanContext(context.trace_id, 5, is_remote=False, trace_flags=context.trace_flags)


def _unfreeze(span):
    span._attributes._immutable = False
    span._attributes["added"] = [1, "two", object]
    span._attributes["a"] = None
    del span._attributes["b"]


def _edit_events(span):
    for event in span._events:
        event._name = event.name.upper()
        event._attributes = {**event.attributes, "edited": True}


HACKS = (
    _redact,
    _rebuild,
    _assign_dict,
    _rename,
    _drop_events,
    _shift_times,
    _other_resource,
    _clear_parent,
    _ok,
    _reset_context,
    _unfreeze,
    _edit_events,
)


def _some_spans(world):
    with world.tracer.start_as_current_span("outer", attributes={"a": 1, "b": (2, 3)}) as outer:
        outer.add_event("event", {"x": 1})
        world.attempt("inner", lambda: _failing(world))


def _failing(world):
    with world.tracer.start_as_current_span("inner", attributes={"a": "secret", "b": "c"}):
        plain()


@pytest.mark.parametrize("hack", HACKS)
def test_spans_changed_as_they_end(fast, hack):
    """A processor that rewrites the spans that end has the processors after it see what it made of them."""
    del fast

    def scenario(world):
        world.provider.add_span_processor(_Hack(hack))
        world.provider.add_span_processor(BatchSpanProcessor(world.keep(Keeping()), schedule_delay_millis=3_600_000))
        world.provider.add_span_processor(SimpleSpanProcessor(world.keep(Keeping())))
        _some_spans(world)

    assert_same(scenario, Setup(processors=("batch",)))


class _HackingExporter(SpanExporter):
    """Rewrites what it exports, as wrapping exporters do, and hands it on."""

    def __init__(self, hack, inner):
        self._hack = hack
        self._inner = inner

    def export(self, spans):
        for span in spans:
            self._hack(span)
        return self._inner.export(spans)


@pytest.mark.parametrize("hack", HACKS)
def test_spans_changed_by_an_exporter(fast, hack):
    """An exporter that rewrites its spans exports what it made of them."""
    del fast

    def scenario(world):
        exporter = _HackingExporter(hack, world.keep(Keeping()))
        world.provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
        _some_spans(world)

    assert_same(scenario, Setup(processors=()))


class _Copying(SpanExporter):
    """Exports copies, as exporters do that change spans for one of several backends."""

    def __init__(self, world, make):
        self._world = world
        self._make = make

    def export(self, spans):
        for span in spans:
            made = self._make(span)
            made._name = "copy"
            made._attributes = {"copied": True, **made.attributes}
            self._world.happened("copy", exported_span(made), type(made).__name__)
            self._world.happened("original", exported_span(span))
        return SpanExportResult.SUCCESS


def _by_hand(span):
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes,
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _field_by_field(span):
    made = ReadableSpan.__new__(ReadableSpan)
    for name in ("_context", "_kind", "_parent", "_start_time", "_end_time", "_status", "_resource"):
        setattr(made, name, getattr(span, name))
    for name in ("_instrumentation_info", "_instrumentation_scope", "_attributes", "_events", "_links", "_name"):
        setattr(made, name, getattr(span, name))
    return made


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, _by_hand, _field_by_field])
@pytest.mark.parametrize("several", [False, True])
def test_copies_of_exported_spans(fast, make, several):
    """Copies are read-only spans of their own: changing one leaves the original as it was."""
    del fast

    def scenario(world):
        exporter = _Copying(world, make)
        world.provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))
        if several:
            world.provider.add_span_processor(SimpleSpanProcessor(world.keep(Keeping())))
        _some_spans(world)

    assert_same(scenario, Setup(processors=()))


def test_attributes_as_mappings(fast):
    """A span's attributes can be used as the mapping that they are, and not be changed through it."""
    del fast

    def scenario(world):
        span = world.tracer.start_span("mapping", attributes={"a": 1, "b": ["x"], "c": {"d": None}})
        attributes = span.attributes
        uses = (
            lambda: dict(attributes),
            lambda: {**attributes},
            lambda: attributes == {"a": 1, "b": ("x",), "c": {"d": None}},
            lambda: attributes["b"],
            lambda: attributes["no"],
            lambda: attributes.get("no", 5),
            lambda: list(attributes.items()),
            lambda: ("a" in attributes, len(attributes), bool(attributes), repr(attributes)),
            attributes.copy,
            lambda: sorted(attributes),
            lambda: attributes.__setitem__("x", 1),
            lambda: span.set_attribute("late", 1) or dict(attributes),
            lambda: [span.set_attribute(f"{key}!", 1) for key in attributes],
            lambda: [span.set_attribute(f"{key}?", 1) for key, _ in span.attributes.items()],
            lambda: dict(span.attributes),
            lambda: span._attributes["late"],
            lambda: isinstance(span._attributes, BoundedAttributes),
        )
        for number, use in enumerate(uses):
            world.attempt(number, use)

    assert_same(scenario)


def test_readable_span_from_a_live_one(fast):
    """`_readable_span` of a live span shares its containers and is otherwise a picture of its time."""
    del fast

    def scenario(world):
        span = world.tracer.start_span("live", attributes={"a": 1})
        readable = span._readable_span()
        world.told(type(readable).__name__, readable.attributes, readable.end_time)
        span.set_attribute("b", 2)
        span.update_name("renamed")
        span.add_event("event")
        world.happened(exported_span(readable))
        world.told(readable._attributes is span._attributes, readable._events is span._events)
        span.end()
        world.happened(exported_span(readable))

    assert_same(scenario)


def test_span_of_the_log_record(fast):
    """What log instrumentations read of the current span."""
    del fast

    def scenario(world):
        def factory(*args, **kwargs):
            record = inner(*args, **kwargs)
            span = trace.get_current_span()
            context = span.get_span_context()
            record.otel = (
                trace.format_trace_id(context.trace_id),
                context.trace_flags.sampled,
                span.resource.attributes,
            )
            return record

        inner = logging.getLogRecordFactory()
        with world.tracer.start_as_current_span("logged"), mock.patch("logging._logRecordFactory", factory):
            record = logging.getLogger("app").makeRecord("app", 20, "f", 1, "message", (), None)
        world.told(record.otel)

    assert_same(scenario)


def test_events_and_links_of_others(fast):
    """Event and Link objects that others made are kept, and given the bounded attributes that stock gives them."""
    del fast

    def scenario(world):
        context = world.tracer.start_span("other").get_span_context()
        link = trace.Link(context, {"a": [1], "b": None})
        event = sdk_trace.Event("own", {"c": ["x"]}, timestamp=5)
        span = world.tracer.start_span("with links", links=[link, trace.Link(context)])
        span._add_event(event)
        span.add_event("after")
        span._add_link(trace.Link(context, {"raw": ["list"]}))
        world.told(link, event, span.links, span.events, span.links[0] is link, span.events[0] is event)
        other = world.tracer.start_span("the same link again", links=(link,))
        world.told(other.links[0] is link, seen(link))
        for each in (span, other):
            each.end()

    for limits in ({}, {"max_links": 1, "max_events": 1, "max_link_attributes": 1}):
        assert_same(scenario, Setup(limits=limits))


def test_spans_resurrected(fast):
    """A span whose end time somebody takes back before it was queued goes on."""
    del fast

    def scenario(world):
        span = world.tracer.start_span("again", attributes={"a": 1})
        span.end()
        span._end_time = None
        world.attempt("event", lambda: span.add_event("event"))
        world.attempt("name", lambda: span.update_name("back"))
        world.attempt("end", span.end)

    assert_same(scenario, Setup(processors=("light", "public")))
