"""Methods that other code has replaced are called as stock calls them, on classes and on objects."""

from __future__ import annotations

import functools
import traceback
from contextlib import ExitStack
from unittest import mock

import pytest
from combinations import crossed
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, SynchronousMultiSpanProcessor, Tracer, _Span
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from sidebyside.compare import assert_same
from sidebyside.processors import Keeping
from sidebyside.setups import Setup

METHODS = [
    (Span, "__init__"),
    (Span, "start"),
    (Span, "end"),
    (Span, "set_attribute"),
    (Span, "set_attributes"),
    (Span, "set_status"),
    (Span, "update_name"),
    (Span, "add_event"),
    (Span, "_add_event"),
    (Span, "add_link"),
    (Span, "record_exception"),
    (Span, "is_recording"),
    (Span, "_readable_span"),
    (Span, "_new_links"),
    (_Span, "end"),
    (_Span, "set_attribute"),
    (_Span, "_readable_span"),
    (ReadableSpan, "__init__"),
    (ReadableSpan, "to_json"),
    (Tracer, "start_span"),
    (Tracer, "start_as_current_span"),
    (SpanProcessor, "on_start"),
    (SpanProcessor, "_on_ending"),
    (SpanProcessor, "on_end"),
    (SynchronousMultiSpanProcessor, "on_start"),
    (SynchronousMultiSpanProcessor, "_on_ending"),
    (SynchronousMultiSpanProcessor, "on_end"),
    (BatchSpanProcessor, "on_start"),
    (BatchSpanProcessor, "_on_ending"),
    (BatchSpanProcessor, "on_end"),
    (SimpleSpanProcessor, "on_start"),
    (SimpleSpanProcessor, "on_end"),
    (context_api, "attach"),
    (context_api, "detach"),
    (trace, "get_current_span"),
    (trace, "use_span"),
    (traceback, "format_exception"),
]
PROPERTIES = ("attributes", "events", "links", "name", "context", "dropped_attributes")


class Quiet(SpanProcessor):
    """A processor that inherits all of its methods."""


class Filtering(BatchSpanProcessor):
    """A batch processor that leaves some spans out."""

    def on_end(self, span):
        """Pass on all but one."""
        if span.name != "left out":
            super().on_end(span)


def telling(world, owner, name):
    """A replacement that tells of each call, with the function that is in place now below it."""
    below = getattr(owner, name)

    @functools.wraps(below)
    def replaced(*args, **kwargs):
        world.happened("called", name, len(args), sorted(kwargs))
        return below(*args, **kwargs)

    return replaced


def work(world):
    """Everything that a span goes through."""
    tracer = world.tracer
    with tracer.start_as_current_span("outer", attributes={"a": 1}) as outer:
        outer.set_attribute("b", 2)
        outer.set_attributes({"c": 3, "d": "4"})
        outer.add_event("event", {"e": 5})
        outer.set_status(trace.StatusCode.OK)
        outer.update_name("renamed")
        link = trace.Link(outer.get_span_context())
        world.attempt("inner", lambda: _failing(tracer, link))
        with trace.use_span(tracer.start_span("used"), end_on_exit=True) as used:
            used.add_link(outer.get_span_context())
            world.told(trace.get_current_span() is used, used.is_recording(), len(used.to_json()) > 0)
    tracer.start_span("left out").end()


def _failing(tracer, link):
    with tracer.start_as_current_span("inner", links=[link]):
        raise LookupError("inner")


PROCESSORS = {
    "a batch and a simple one": lambda world: [_batch(world), SimpleSpanProcessor(world.keep(Keeping()))],
    "a batch": lambda world: [_batch(world)],
    "a quiet one and a batch": lambda world: [Quiet(), _batch(world)],
    "a filter": lambda world: [_batch(world, Filtering)],
}


def _batch(world, kind=BatchSpanProcessor):
    return kind(world.keep(Keeping()), schedule_delay_millis=3_600_000)


@pytest.mark.proves("batch_processor.on_end")
@pytest.mark.parametrize(
    ("method", "processors"),
    crossed(METHODS, list(PROCESSORS)),
    ids=lambda value: f"{value[0].__name__}-{value[1]}" if isinstance(value, tuple) else value,
)
def test_a_method_is_replaced_and_put_back(fast, method, processors):
    """In the middle of a program, and of a span: from then on it is called, and no more once it is put back."""
    del fast
    owner, name = method

    def scenario(world):
        for processor in PROCESSORS[processors](world):
            world.provider.add_span_processor(processor)
        work(world)
        span = world.tracer.start_span("open", attributes={"a": 1})
        with mock.patch.object(owner, name, telling(world, owner, name)):
            work(world)
            span.set_attribute("late", 1)
            span.end()
        work(world)

    assert_same(scenario, Setup(processors=()))


def test_another_span_context(fast):
    """Who replaces `get_span_context` decides which span is the parent. How often stock asks is its own business."""
    del fast

    def scenario(world):
        below = Span.get_span_context

        def replaced(span):
            context = below(span)
            return trace.SpanContext(context.trace_id, 5, is_remote=False, trace_flags=context.trace_flags)

        work(world)
        with mock.patch.object(Span, "get_span_context", replaced):
            work(world)
        work(world)

    assert_same(scenario)


def test_another_current_context(fast):
    """Who replaces `get_current` decides which span is the parent. How often stock asks is its own business."""
    del fast

    def scenario(world):
        remote = trace.NonRecordingSpan(trace.SpanContext(7, 8, is_remote=True, trace_flags=trace.TraceFlags(1)))
        below = context_api.get_current

        def replaced():
            return below() or trace.set_span_in_context(remote, {})

        work(world)
        with mock.patch.object(context_api, "get_current", replaced):
            work(world)
        work(world)

    assert_same(scenario)


@pytest.mark.parametrize("processors", sorted(PROCESSORS))
@pytest.mark.parametrize("name", ["on_start", "_on_ending", "on_end"])
def test_a_method_is_set_on_a_processor(fast, name, processors):
    """On each of them, and on the one that passes the spans on to them."""
    del fast

    def scenario(world):
        for processor in PROCESSORS[processors](world):
            world.provider.add_span_processor(processor)
        work(world)
        root = world.provider._active_span_processor
        for processor in (root, *root._span_processors):
            with mock.patch.object(processor, name, telling(world, processor, name)):
                work(world)
        work(world)

    assert_same(scenario, Setup(processors=()))


@pytest.mark.parametrize(
    "name", ["end", "set_attribute", "set_attributes", "set_status", "add_event", "record_exception", "is_recording"]
)
def test_a_method_is_set_on_a_span(fast, name):
    """It is called for that span, also by the other methods and by the span's scope."""
    del fast

    def scenario(world):
        span = world.tracer.start_span("one")
        setattr(span, name, telling(world, span, name))
        world.attempt("scope", lambda: _raise_in(span))
        span.set_attribute("a", 1)
        work(world)

    assert_same(scenario)


def _raise_in(span):
    with trace.use_span(span, end_on_exit=True):
        raise LookupError("within")


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_is_replaced(fast, name):
    """Of live spans and of those that have ended."""
    del fast

    def scenario(world):
        stock = vars(ReadableSpan)[name]

        def replaced(span):
            world.happened("read", name)
            return stock.fget(span)

        class Reading(SpanProcessor):
            def on_end(self, span):
                getattr(span, name)

        world.provider.add_span_processor(Reading())
        with mock.patch.object(ReadableSpan, name, property(replaced)), world.tracer.start_as_current_span("a") as span:
            getattr(span, name)
        getattr(span, name)

    assert_same(scenario)


@pytest.mark.parametrize("several", [METHODS[1:9], METHODS[20:31], METHODS])
def test_many_at_once(fast, several):
    """Each is called for its own operation."""
    del fast

    def scenario(world):
        for processor in PROCESSORS["a batch and a simple one"](world):
            world.provider.add_span_processor(processor)
        with ExitStack() as stack:
            for owner, name in several:
                stack.enter_context(mock.patch.object(owner, name, telling(world, owner, name)))
            work(world)
        work(world)

    assert_same(scenario, Setup(processors=()))
