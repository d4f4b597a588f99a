"""The record factory of `LoggingInstrumentor`: the same fields as stock's, and its removal."""

from __future__ import annotations

import functools
import logging

import pytest
from newer_releases import older
from opentelemetry import trace
from opentelemetry.instrumentation.logging import LoggingInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

# Before 0.64b0, the ids were injected where the format was set.
INJECTED = {
    "set_logging_format" if older("opentelemetry-instrumentation-logging", "0.64b0") else "inject_trace_context": True
}
CONTEXTS = [
    (0, 0, 0),
    (0xABC, 0xDEF, 1),
    (2**128 - 1, 2**64 - 1, 0),
    (1, 0, 1),
    (0, 1, 0),
    (1 << 130, 1 << 70, 1),
]


@pytest.fixture
def instrument():
    """Instruments `logging`, and removes that after the test."""
    before = logging.getLogRecordFactory()
    made = LoggingInstrumentor()

    def begin(**options):
        made.instrument(enable_log_auto_instrumentation=False, **options)
        return logging.getLogRecordFactory()

    yield begin
    if made.is_instrumented_by_opentelemetry:
        made.uninstrument()
    logging.setLogRecordFactory(before)


def fields():
    """What the factory adds to a record."""
    record = logging.getLogRecordFactory()("name", 20, "file", 1, "message", (), None)
    return [(key, value) for key, value in vars(record).items() if key.startswith("otel")]


def every_context():
    """The fields in each of the contexts, and outside."""
    found = [fields()]
    for trace_id, span_id, flags in CONTEXTS:
        context = trace.SpanContext(trace_id, span_id, is_remote=False, trace_flags=trace.TraceFlags(flags))
        with trace.use_span(trace.NonRecordingSpan(context)):
            found.append(fields())
    return found


@pytest.mark.proves("logs.correlation")
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_the_fields_are_as_in_stock(first, instrument, instrumentor, core):
    """In either order of instrumenting, and removed without a trace."""
    provider = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    stock = instrument(**INJECTED, tracer_provider=provider)
    expected = every_context()
    if first == "ours":
        LoggingInstrumentor().uninstrument()
    instrumentor.instrument(core=core)
    if first == "ours":
        instrument(**INJECTED, tracer_provider=provider)
    ours = logging.getLogRecordFactory()

    assert ours is not stock
    assert every_context() == expected
    with provider.get_tracer("test").start_as_current_span("span") as span:
        context = span.get_span_context()
        assert fields() == [
            ("otelSpanID", f"{context.span_id:016x}"),
            ("otelTraceID", f"{context.trace_id:032x}"),
            ("otelTraceSampled", True),
            ("otelServiceName", "shop"),
        ]

    instrumentor.uninstrument()
    assert logging.getLogRecordFactory().__module__ == "opentelemetry.instrumentation.logging"
    assert every_context() == expected


def test_a_log_hook_is_called(instrument, instrumentor, core):
    """With the span and the record."""
    instrumentor.instrument(core=core)

    def hook(span, record):
        record.otelHooked = span.get_span_context().span_id

    instrument(**INJECTED, log_hook=hook)
    context = trace.SpanContext(1, 2, is_remote=False)
    with trace.use_span(trace.NonRecordingSpan(context)):
        assert ("otelHooked", 2) in fields()


def test_nothing_is_injected_unasked(instrument, instrumentor, core):
    """The instrumentation sets its factory anyway."""
    instrumentor.instrument(core=core)
    instrument()
    assert fields() == []


def test_a_wrapped_factory_becomes_inert(instrument, instrumentor, core):
    """Somebody has taken ours out of `logging`."""
    instrumentor.instrument(core=core)
    ours = instrument(**INJECTED)
    logging.setLogRecordFactory(functools.partial(ours))
    expected = fields()
    instrumentor.uninstrument()
    assert fields() == expected
