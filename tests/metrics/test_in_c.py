"""What the compiled core does in the place of a look-up or of a new object is nobody's business but its own."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import otel_fastpath

SAMPLED = trace.set_span_in_context(NonRecordingSpan(SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(1))))
KINDS = {"counter": "add", "up_down_counter": "add", "histogram": "record", "gauge": "set"}


@pytest.fixture
def reader(instrumented):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """What reads the provider's metrics, under the fast path of either core."""
    return InMemoryMetricReader()


@pytest.fixture
def meter(reader):
    """A meter of a provider with one reader."""
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    yield provider.get_meter("in C")
    provider.shutdown()


def point_of(reader):
    """The one point there is."""
    (metric,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
    return metric.data.data_points[0]


def cell_of(instrument):
    """Where the one series of an instrument without attributes is recorded to."""
    known = instrument._otel_fastpath_recorder.series
    ((cell,),) = [known.find()] if hasattr(known, "find") else known.values()
    return cell


@pytest.mark.parametrize("kind", KINDS)
def test_state_may_be_in_any_order(meter, reader, kind):
    """Upstream's attributes are found wherever they are, also once they are somewhere else."""
    instrument = getattr(meter, f"create_{kind}")("numbers")
    bound = otel_fastpath.bind(instrument)
    verb = getattr(bound, KINDS[kind])
    for _ in range(3):
        verb(2)
    for owner in (cell_of(instrument).aggregation, instrument._measurement_consumer):
        state = vars(owner)
        turned = list(state.items())[::-1]
        state.clear()
        state.update(turned)

    verb(5)

    point = point_of(reader)
    found = getattr(point, "value", None) or (point.sum, point.min, point.max, point.count)
    assert found == {"histogram": (11, 2, 5, 4), "gauge": 5}.get(kind, 11)


def test_an_exemplar_that_somebody_holds_stays(meter):
    """What was kept is written over only where nobody else can see it."""
    histogram = meter.create_histogram("numbers")
    bound = otel_fastpath.bind(histogram)
    for _ in range(3):
        bound.record(1.5, SAMPLED)
    if cell_of(histogram).buckets is None:
        pytest.skip("this SDK's reservoirs have no lock: exemplars are kept by its own method")
    (bucket,) = [each for each in cell_of(histogram).buckets if each is not None]
    held = bucket.held
    before = list(held)

    bound.record(1.75, SAMPLED)

    assert list(held) == before
    assert bucket.held[0] == 1.75
    assert bucket.held[3:] == (2, 1)


def test_exemplars_one_after_the_other(meter, reader):
    """The last one of a bucket is what is collected, with its own time."""
    bound = otel_fastpath.bind(meter.create_histogram("numbers"))
    for amount in (1.25, 1.5, 1.75, 2.0):
        bound.record(amount, SAMPLED)

    (found,) = point_of(reader).exemplars
    assert (found.value, found.span_id, found.trace_id) == (2.0, 2, 1)
    bound.record(2.25, SAMPLED)
    (later,) = point_of(reader).exemplars
    assert (later.value, found.value) == (2.25, 2.0)
    assert later.time_unix_nano >= found.time_unix_nano
