"""The skeleton around a call of the host: one span, the host's call exactly once, whatever happens."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, nullcontext
from types import FunctionType

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from otel_fastpath.wrapping import call as _call


@pytest.fixture
def exporter():
    """Where the spans go."""
    return InMemorySpanExporter()


@pytest.fixture
def telemetry(exporter):
    """That of a wrapper."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return _call.WrapperTelemetry(provider.get_tracer("wrapper"))


@pytest.fixture
def reader():
    """Collects the metrics."""
    return InMemoryMetricReader()


@pytest.fixture
def series(reader):
    """The durations of one kind of call."""
    histogram = MeterProvider([reader]).get_meter("wrapper").create_histogram("duration", unit="s")
    return _call.CallDurations(histogram, {"operation": "get"}, "status")


def points(reader):
    """Attributes -> count of each stream."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    metrics = data.resource_metrics[0].scope_metrics[0].metrics
    return {tuple(sorted(point.attributes.items())): point.count for point in metrics[0].data.data_points}


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Call a host through the skeleton, in both of its forms; gives the result."""

    def call(telemetry, host, *args, attributes=None, series=None, **kwargs):
        async def coroutine():
            with begun(telemetry, attributes, series):
                await asyncio.sleep(0)
                return host(*args, **kwargs)

        if request.param == "async":
            return asyncio.run(coroutine())
        with begun(telemetry, attributes, series):
            return host(*args, **kwargs)

    return call


@contextmanager
def begun(telemetry, attributes=None, series=None):
    """A call, as the module's docstring shows it; None: no telemetry."""
    made = _call.new()
    try:
        yield made if _call.begin(made, telemetry, "get", attributes, series) else None
        made.end()
    except BaseException as error:
        made.fail(error)
        raise


def test_a_call_is_one_span(run, telemetry, exporter, series, reader):
    """With its name, kind and attributes; current while the host runs; its duration is recorded once."""
    seen = []

    def host(*args, **kwargs):
        seen.append((args, kwargs, trace.get_current_span().name))
        return "result"

    assert run(telemetry, host, 1, attributes={"a": 1}, series=series, key=2) == "result"

    (span,) = exporter.get_finished_spans()
    assert seen == [((1,), {"key": 2}, "get")]
    assert (span.name, span.kind, dict(span.attributes)) == ("get", SpanKind.CLIENT, {"a": 1})
    assert span.status.status_code is StatusCode.UNSET
    assert points(reader) == {(("operation", "get"),): 1}
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.parametrize(
    ("error", "error_type", "events"),
    [
        (ValueError("secret"), "ValueError", 1),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError", 0),
        (KeyboardInterrupt(), "KeyboardInterrupt", 0),
    ],
)
def test_what_the_host_raises_is_told_and_raised(run, telemetry, exporter, series, reader, error, error_type, events):
    """The very same exception; the status says its type and nothing of its message."""

    def host():
        raise error

    if isinstance(error, KeyboardInterrupt) and run.__closure__[0].cell_contents.param == "async":
        pytest.skip("it would end the event loop")
    with pytest.raises(type(error)) as caught:
        run(telemetry, host, series=series)

    (span,) = exporter.get_finished_spans()
    assert caught.value is error or isinstance(error, asyncio.CancelledError)
    assert span.attributes["error.type"] == error_type
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, type(error).__qualname__)
    assert len(span.events) == events
    assert points(reader) == {(("error.type", error_type), ("operation", "get")): 1}


def test_a_status_code_is_the_metrics_too(run, telemetry, exporter, series, reader):
    """Where the wrapper's description of an error has it."""
    telemetry.describe = lambda _error: _call.Failure("503", {"status": "503"}, recorded=False)

    with pytest.raises(ZeroDivisionError):
        run(telemetry, lambda: 1 // 0, series=series)

    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes) == {"status": "503", "error.type": "503"}
    assert span.events == ()
    assert points(reader) == {(("error.type", "503"), ("operation", "get"), ("status", "503")): 1}


def test_error_types_without_end_are_recorded_all_the_same(run, telemetry, series, reader):
    """Only so many are bound."""
    kinds = [type(f"Error{number}", (Exception,), {}) for number in range(_call._MOST_ERROR_TYPES + 3)]
    for kind in kinds:

        def host(kind=kind):
            raise kind

        with pytest.raises(kind):
            run(telemetry, host, series=series)

    assert len(points(reader)) == len(kinds)
    assert len(series._failed) == _call._MOST_ERROR_TYPES


@pytest.mark.parametrize(
    "key", [context._SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation"], ids=["key", "name"]
)
def test_a_suppressed_call_is_the_hosts_alone(run, telemetry, exporter, series, reader, key):
    """No span, no duration."""
    token = context.attach(context.set_value(key, value=True))
    try:
        assert run(telemetry, lambda: 3, series=series) == 3
    finally:
        context.detach(token)

    assert exporter.get_finished_spans() == ()
    assert points(reader) == {}


def test_what_is_not_sampled_is_still_counted(exporter, series, reader):
    """Nothing is recorded on the span; the metric does not depend on it."""
    provider = TracerProvider(sampler=ALWAYS_OFF)
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    with begun(_call.WrapperTelemetry(provider.get_tracer("wrapper")), series=series) as call:
        assert not call.recording

    assert exporter.get_finished_spans() == ()
    assert points(reader) == {(("operation", "get"),): 1}


def test_a_call_with_a_result_that_continues(telemetry, exporter, series, reader):
    """The context is restored; the span ends when its holder says so, once."""
    call = _call.new()
    assert _call.begin(call, telemetry, "get", None, series)
    call.leave()
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert exporter.get_finished_spans() == ()
    call.end()
    call.fail(ValueError())

    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET
    assert points(reader) == {(("operation", "get"),): 1}


@pytest.mark.parametrize("place", ["start", "end", "describe"])
def test_our_faults_do_not_reach_the_host(telemetry, no_faults, place, logged):
    """The host is called once, its result or exception stands, and the fault is counted."""
    calls = []

    def broken(_error):
        raise ZeroDivisionError("ours")

    def host():
        calls.append(1)
        if place == "describe":
            raise LookupError
        return "result"

    if place == "start":
        telemetry.tracer = None
    if place == "describe":
        names = {**globals(), "__name__": "otel_fastpath"}
        telemetry.describe = FunctionType(broken.__code__, names)
    with pytest.raises(LookupError) if place == "describe" else nullcontext(), begun(telemetry) as call:
        if place == "end":
            call.span = None
        assert host() == "result"

    assert calls == [1]
    assert sum(no_faults.counts().values()) == 1
    assert len(logged()) == 1
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_coroutine_that_is_given_up_ends_its_span(telemetry, exporter):
    """Without an error: nobody knows what would have become of it."""

    class Never:
        def __await__(self):
            yield

    async def host():
        with begun(telemetry):
            await Never()

    coroutine = host()
    coroutine.send(None)
    coroutine.close()

    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET
