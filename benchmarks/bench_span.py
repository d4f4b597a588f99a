"""The life cycle of a span: each row of the table as the `bare` and `instrumented` callables of a scenario.

    python benchmarks/bench_span.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml

The set-ups are `stock`, `pure` and `compiled`. Spans are queued by a batch processor whose thread never wakes: the cost
of exporting is measured separately.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import wrapt
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from setups import ATTRIBUTES, EVENT, ways

CARRIER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


class Drop(SpanExporter):
    """Replaces an exporter."""

    def export(self, spans: Any) -> SpanExportResult:  # noqa: ARG002  # the interface
        """Forget them."""
        return SpanExportResult.SUCCESS


class Given:
    """The objects that the callables of this file use.

    Attributes:
        tracer: A tracer of a provider with a batch processor.
        before: A proxy of it.
        dropping: A tracer of a provider that samples nothing.
        span: A recording span.
        proxy: A tracer without a provider.
        shallow: An exception that propagated through 5 frames.
        deep: An exception that propagated through 30 frames.
        context: A context with a span.
        other: The context of a span elsewhere.
    """

    def __init__(self) -> None:
        self.provider = batching()
        self.tracer = self.provider.get_tracer("bench")
        self.before: Any = wrapt.ObjectProxy(self.tracer)
        dropping = TracerProvider(sampler=ParentBased(TraceIdRatioBased(0.0)))
        dropping.add_span_processor(BatchSpanProcessor(Drop()))
        self.dropping = dropping.get_tracer("bench")
        self.proxy = trace.ProxyTracerProvider().get_tracer("bench")
        self.span = self.tracer.start_span("recording")
        self.context = trace.set_span_in_context(self.span)
        self.other = trace.SpanContext(1 << 100, 1 << 50, is_remote=True, trace_flags=trace.TraceFlags(1))
        self.propagator = TraceContextTextMapPropagator()
        self.shallow, self.deep = fallen(5), fallen(30)


def batching(sampler: Sampler | None = None) -> TracerProvider:
    """A provider with a batch processor whose thread never wakes: exporting is not part of the measurement.

    Args:
        sampler: Its sampler; None: the default one.
    """
    provider = TracerProvider(sampler=sampler)
    batch = BatchSpanProcessor(
        Drop(), max_queue_size=1 << 20, max_export_batch_size=1 << 20, schedule_delay_millis=3.6e6
    )
    provider.add_span_processor(batch)
    keep_small(batch)
    return provider


def keep_small(batch: Any) -> None:
    """Give a batch processor a queue of the usual length that drops its oldest spans, so that millions are not kept."""
    inner = batch._batch_processor
    inner._queue = deque(inner._queue, maxlen=2048)


def fallen(frames: int) -> ValueError:
    """Make an exception that propagated through this number of frames."""

    def fall(left: int) -> None:
        if left > 1:
            fall(left - 1)
        raise ValueError("no such item")

    try:
        fall(frames - 1)
    except ValueError as error:
        return error
    raise AssertionError


stock, pure, compiled = ways(Given)


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def span(given: Given) -> None:
    """A span as the current one, without attributes."""
    with given.tracer.start_as_current_span("GET /items/{item_id}"):
        pass


def span_7_attributes(given: Given) -> None:
    """The same with seven attributes at its start."""
    with given.tracer.start_as_current_span("GET /items/{item_id}", attributes=ATTRIBUTES):
        pass


def linked(given: Given) -> None:
    """A span as the current one with a link, such as to the message that it consumes."""
    with given.tracer.start_as_current_span("GET /items/{item_id}", links=[trace.Link(given.other)]):
        pass


def linked_with_attributes(given: Given) -> None:
    """The same with three attributes of the link."""
    with given.tracer.start_as_current_span("GET /items/{item_id}", links=[trace.Link(given.other, EVENT)]):
        pass


def add_link(given: Given) -> None:
    """A span that gets a link later; bare is `start_and_end`."""
    made = given.tracer.start_span("GET /items/{item_id}")
    made.add_link(given.other, EVENT)
    made.end()


def start_and_end(given: Given) -> None:
    """A span that is never the current one."""
    given.tracer.start_span("GET /items/{item_id}").end()


def start_by_another(given: Given) -> None:
    """The same by an object of another package that stands before the tracer, as OpenInference's does."""
    type(given.tracer).start_span(given.before, "GET /items/{item_id}").end()


def reconfigured(given: Given) -> None:
    """The same after the tracer's configuration was set, so that values derived from it are computed again."""
    given.tracer.resource = given.tracer.resource
    given.tracer.start_span("GET /items/{item_id}").end()


def parent(given: Given) -> None:
    """The code around a child."""
    with trace.use_span(given.span, end_on_exit=False):
        pass


def parent_and_child(given: Given) -> None:
    """A child of the current span."""
    with trace.use_span(given.span, end_on_exit=False), given.tracer.start_as_current_span("SELECT items"):
        pass


def sampled_out(given: Given) -> None:
    """A span that is not sampled."""
    with given.dropping.start_as_current_span("GET /items/{item_id}"):
        pass


def without_sdk(given: Given) -> None:
    """An instrumented library in a service without an SDK."""
    with given.proxy.start_as_current_span("GET /items/{item_id}"):
        pass


def set_attribute(given: Given) -> None:
    """One text."""
    given.span.set_attribute("http.route", "/items/{item_id}")


def set_attributes(given: Given) -> None:
    """Seven at once."""
    given.span.set_attributes(ATTRIBUTES)


def set_status(given: Given) -> None:
    """To OK."""
    given.span.set_status(trace.StatusCode.OK)


def update_name(given: Given) -> None:
    """A new name."""
    given.span.update_name("GET /items/{item_id}")


def get_span_context(given: Given) -> None:
    """As hooks of logging do for each record."""
    given.span.get_span_context()


def add_event(given: Given) -> None:
    """A span with an event of three attributes; bare is `start_and_end`."""
    made = given.tracer.start_span("GET /items/{item_id}")
    made.add_event("cache", EVENT)
    made.end()


def record_shallow(given: Given) -> None:
    """A span with an exception of 5 frames; bare is `start_and_end`."""
    made = given.tracer.start_span("GET /items/{item_id}")
    made.record_exception(given.shallow)
    made.end()


def record_deep(given: Given) -> None:
    """The same with 30 frames."""
    made = given.tracer.start_span("GET /items/{item_id}")
    made.record_exception(given.deep)
    made.end()


def extract(given: Given) -> None:
    """Read the header of an incoming request."""
    given.propagator.extract(CARRIER)


def inject(given: Given) -> None:
    """Write the header of an outgoing request."""
    given.propagator.inject({}, given.context)


def use_span(given: Given) -> None:
    """Make a span the current one."""
    with trace.use_span(given.span, end_on_exit=False):
        pass


def set_span_in_context(given: Given) -> None:
    """Make a context with a span."""
    trace.set_span_in_context(given.span)


def attach_detach(given: Given) -> None:
    """Make a context the current one, and undo it."""
    context.detach(context.attach(given.context))


def get_current_span(given: Given) -> None:  # noqa: ARG001  # as all callables of a scenario
    """Ask for it."""
    trace.get_current_span()


# Row of the table -> bare and instrumented.
ROWS = {
    "start_as_current_span + end": (nothing, span),
    "same, 7 attributes": (nothing, span_7_attributes),
    "start_span + end": (nothing, start_and_end),
    "child start_as_current_span + end": (parent, parent_and_child),
    "sampled out": (nothing, sampled_out),
    "no SDK configured": (nothing, without_sdk),
    "set_attribute, str": (nothing, set_attribute),
    "set_attributes, 7": (nothing, set_attributes),
    "set_status": (nothing, set_status),
    "update_name": (nothing, update_name),
    "get_span_context": (nothing, get_span_context),
    "add_event, 3 attributes": (start_and_end, add_event),
    "record_exception, 5 frames": (start_and_end, record_shallow),
    "record_exception, 30 frames": (start_and_end, record_deep),
    "TraceContext extract": (nothing, extract),
    "TraceContext inject": (nothing, inject),
    "use_span": (nothing, use_span),
    "set_span_in_context": (nothing, set_span_in_context),
    "attach and detach": (nothing, attach_detach),
    "get_current_span": (nothing, get_current_span),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("The life of a span", "bench_span", ROWS, ("stock", "pure", "compiled")))
