"""Stand-ins for what other vendors' packages do to the SDK. `make vendors` runs the packages themselves."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from unittest import mock

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from sidebyside.compare import assert_same
from sidebyside.processors import Keeping
from sidebyside.setups import Setup


def work(world, tracer):
    """Nested spans, an event, and an exception that leaves a span."""
    with tracer.start_as_current_span("request", attributes={"a": 1}) as span:
        span.add_event("begun")
        world.attempt("query", lambda: _failing(tracer))
        span.set_attribute("late", 1)
    world.provider.force_flush()


def _failing(tracer):
    with tracer.start_as_current_span("query", kind=trace.SpanKind.CLIENT):
        raise LookupError("no row")


def batch(world, kind=BatchSpanProcessor):
    """A batch processor whose spans are compared."""
    return kind(world.keep(Keeping()), schedule_delay_millis=3_600_000)


@contextmanager
def sentry(world):
    """Captures each exception that a span records: `OTLPIntegration`."""
    record = Span.record_exception

    @functools.wraps(record)
    def captured(self, exception, *args, **kwargs):
        world.happened("captured", type(exception).__name__, self.name)
        return record(self, exception, *args, **kwargs)

    world.provider.add_span_processor(batch(world))
    with mock.patch.object(Span, "record_exception", captured):
        yield world.tracer


@contextmanager
def splunk(world):
    """Knows the current span of each thread: AlwaysOn profiling."""
    attach, detach = context_api.attach, context_api.detach

    def attached(context):
        token = attach(context)
        world.happened("current", trace.get_current_span().get_span_context().span_id)
        return token

    def detached(token):
        detach(token)
        world.happened("current", trace.get_current_span().get_span_context().span_id)

    world.provider.add_span_processor(batch(world))
    with mock.patch.multiple(context_api, attach=attached, detach=detached):
        yield world.tracer


@contextmanager
def openinference_project(world):
    """Adds the project's name to the resource of each span: `dangerously_using_project`."""
    init = ReadableSpan.__init__

    def projected(self, *args, **kwargs):
        resource = kwargs.get("resource") or Resource.get_empty()
        init(self, *args, **{**kwargs, "resource": resource.merge(Resource({"project.name": "p"}))})

    world.provider.add_span_processor(batch(world))
    work(world, world.tracer)
    with mock.patch.object(ReadableSpan, "__init__", projected):
        yield world.tracer


class Proxy:
    """Delegates to a tracer, and calls its class's method with itself: OpenInference's `OITracer`."""

    def __init__(self, tracer):
        self._tracer = tracer

    def __getattr__(self, name):
        """What it has not is the tracer's."""
        return getattr(self._tracer, name)

    def start_span(self, name, **kwargs):
        """With the class's method."""
        return type(self._tracer).start_span(self, name, **kwargs)

    @contextmanager
    def start_as_current_span(self, name, **kwargs):
        """The same, as the current span."""
        with trace.use_span(self.start_span(name, **kwargs), end_on_exit=True) as span:
            yield span


@contextmanager
def openinference_tracer(world):
    """Wraps every tracer."""
    world.provider.add_span_processor(batch(world))
    yield Proxy(world.tracer)


@contextmanager
def respan(world):
    """Sets a method on a processor that is in use."""
    processor = batch(world)
    world.provider.add_span_processor(processor)
    work(world, world.tracer)
    on_end = processor.on_end

    def filtering(span):
        world.happened("ended", span.name, dict(span.attributes))
        if span.name != "query":
            on_end(span)

    processor.on_end = filtering
    yield world.tracer


class Langfuse(BatchSpanProcessor):
    """Marks spans as they start, and masks them as they end."""

    def on_start(self, span, parent_context=None):
        """Mark it."""
        span.set_attribute("release", "r")
        super().on_start(span, parent_context)

    def on_end(self, span):
        """Mask it."""
        span._attributes = {key: "***" if key == "a" else value for key, value in span.attributes.items()}
        super().on_end(span)


@contextmanager
def langfuse(world):
    """Adds its own batch processor beside another's."""
    world.provider.add_span_processor(batch(world))
    world.provider.add_span_processor(batch(world, Langfuse))
    yield world.tracer


class Root(SpanProcessor):
    """Passes spans on in its own way, and shows those that have only begun."""

    def __init__(self, world, inner):
        self._world = world
        self._inner = inner

    def on_start(self, span, parent_context=None):
        """Show it as pending."""
        self._inner.on_start(span, parent_context)
        self._world.happened("pending", span.name, span.get_span_context().span_id)

    def on_end(self, span):
        """Pass it on."""
        self._inner.on_end(span)

    def force_flush(self, timeout_millis=30_000):
        """Pass it on."""
        return self._inner.force_flush(timeout_millis)

    def shutdown(self):
        """Pass it on."""
        self._inner.shutdown()


@contextmanager
def logfire(world):
    """Puts a processor of its own around all others."""
    world.provider.add_span_processor(batch(world))
    world.tracer.span_processor = Root(world, world.tracer.span_processor)
    yield world.tracer


@pytest.mark.parametrize(
    "vendor", [sentry, splunk, openinference_project, openinference_tracer, respan, langfuse, logfire]
)
def test_what_a_vendor_sends(fast, vendor):
    """While it is there, and after it has gone."""
    del fast

    def scenario(world):
        with vendor(world) as tracer:
            work(world, tracer)
        work(world, world.tracer)

    assert_same(scenario, Setup(processors=()))
