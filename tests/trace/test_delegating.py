"""Objects of other people's that delegate to a span, tracer or instrument: what they have of their own is called."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.metrics import Histogram
from opentelemetry.metrics._internal import _ProxyMeter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from otel_fastpath import bind


@pytest.fixture
def exporter():
    """Where the spans go."""
    return InMemorySpanExporter()


@pytest.fixture
def tracer(instrumented, exporter):
    """A tracer of the SDK under the fast path."""
    del instrumented
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("delegating")
    provider.shutdown()


class Wrapper(trace.NonRecordingSpan):
    """A span around another, as vendors have them."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        """What it has not is the other's."""
        return getattr(self._inner, name)

    def get_span_context(self):
        """The other's, as are the next."""
        return self._inner.get_span_context()

    def is_recording(self):
        """Whether it is."""
        return self._inner.is_recording()

    def set_status(self, status, description=None):
        """Set it."""
        self._inner.set_status(status, description)

    def end(self, end_time=None):
        """End it."""
        self._inner.end(end_time)

    def record_exception(self, exception, attributes=None, timestamp=None, escaped=False):
        """Record it with what the vendor has to say."""
        self._inner.record_exception(exception, {**(attributes or {}), "vendor.fingerprint": "f"}, timestamp, escaped)


def test_a_span_wrapper_s_record_exception_is_called(tracer, exporter):
    """Also for what escapes `use_span`; the frames of stock's manager are shown as ever."""
    with (
        pytest.raises(ValueError, match="escapes"),
        trace.use_span(Wrapper(tracer.start_span("wrapped")), end_on_exit=True),
    ):
        raise ValueError("escapes")

    (span,) = exporter.get_finished_spans()
    (event,) = span.events
    assert event.attributes["vendor.fingerprint"] == "f"
    assert event.attributes["exception.stacktrace"].count("yield span") == 1
    assert span.status.description == "ValueError: escapes"


def test_a_record_exception_set_on_a_span_is_called(tracer):
    """It is the one that stock calls for what escapes."""
    seen = []
    with pytest.raises(KeyError), tracer.start_as_current_span("own") as span:  # noqa: PT012  # the span is needed in it
        span.record_exception = lambda error, *_, **__: seen.append(error)
        raise KeyError

    assert [type(error) for error in seen] == [KeyError]
    assert span.events == ()


class Delegating:
    """What passes for another object: attributes, class, equality and hash are the other's."""

    def __init__(self, inner, **own):
        vars(self).update(own, _inner=inner)

    def __getattr__(self, name):
        """What it has not is the other's."""
        return getattr(self._inner, name)

    def __eq__(self, other):
        """As the other."""
        return self._inner == other

    def __hash__(self):
        """Likewise."""
        return hash(self._inner)


class Keeps(SpanProcessor):
    """Keeps the names of the spans that end."""

    def __init__(self):
        self.names = []

    def on_end(self, span):
        """Keep it."""
        self.names.append(span.name)


class OwnIds:
    """An id generator that counts."""

    def generate_trace_id(self):
        """One more."""
        return 7

    def generate_span_id(self):
        """Likewise."""
        return 9

    def is_trace_id_random(self):
        """They are not."""
        return False


def test_a_tracer_that_delegates_uses_what_it_has_of_its_own(tracer):
    """The class's method, called with a proxy that has an id generator of its own, as OpenInference's tracer does."""
    proxy = Delegating(tracer, id_generator=OwnIds())
    tracer.start_span("before").end()

    context = type(tracer).start_span(proxy, "through the proxy").get_span_context()

    assert (context.trace_id, context.span_id) == (7, 9)


def test_a_proxy_has_a_plan_of_its_own(tracer, core):
    """It is equal to its tracer; the spans of both are fast, and what is set on the tracer or added counts for both."""
    from otel_fastpath import compiled as cores

    fast = cores.load("trace.spans.recorded", core).SpanState
    proxy, keeps = Delegating(tracer), Keeps()

    def started(name):
        span = type(tracer).start_span(proxy, name)
        span.end()
        return span

    assert isinstance(started("through the proxy"), fast)
    assert isinstance(tracer.start_span("own"), fast)
    tracer.span_processor.add_span_processor(keeps)
    assert isinstance(started("seen"), fast)
    tracer.sampler = ALWAYS_OFF
    assert not started("dropped").is_recording()
    assert not isinstance(started("dropped"), fast)
    assert keeps.names == ["seen"]


def test_a_proxy_that_is_gone_leaves_nothing(tracer):
    """Its plan goes with it, and another object with its id gets a plan of its own."""
    for number in range(100):
        proxy = Delegating(tracer, id_generator=OwnIds() if number % 2 else tracer.id_generator)
        context = type(tracer).start_span(proxy, "through the proxy").get_span_context()
        assert (context.trace_id == 7) == bool(number % 2)
        del proxy


class Doubling(Histogram):
    """A histogram around another that records twice as much."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        """What it has not is the other's."""
        return getattr(self._inner, name)

    def record(self, amount, attributes=None, context=None):
        """Record it."""
        self._inner.record(2 * amount, attributes, context)


def test_a_bound_instrument_that_delegates_is_called(instrumented):
    """Around one of the SDK, and around one that waits for a provider."""
    del instrumented
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    waiting = _ProxyMeter("waiting").create_histogram("waiting")
    inners = [provider.get_meter("m").create_histogram("direct"), waiting]
    waiting.on_meter_set(provider.get_meter("m"))
    for inner in inners:
        bound = bind(Doubling(inner), {"a": 1})
        for _ in range(3):
            bound.record(5)

    (scope,) = reader.get_metrics_data().resource_metrics[0].scope_metrics
    assert {metric.name: metric.data.data_points[0].sum for metric in scope.metrics} == {"direct": 30, "waiting": 30}
    provider.shutdown()
