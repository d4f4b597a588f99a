"""What the compiled core does in the place of a look-up or of a new object is nobody's business but its own."""

from __future__ import annotations

import copy
import threading
from unittest import mock

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
    """Stock's attributes are found wherever they are, also once they are somewhere else."""
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


@pytest.mark.parametrize("kind", ["counter", "histogram"])
def test_who_holds_the_lock_is_waited_for(meter, reader, kind):
    """A collection that has begun does not lose what is recorded meanwhile."""
    instrument = getattr(meter, f"create_{kind}")("numbers")
    verb = getattr(otel_fastpath.bind(instrument), KINDS[kind])
    for _ in range(3):
        verb(2)
    state = vars(cell_of(instrument).aggregation)
    thread = threading.Thread(target=verb, args=(5,))

    with state["_lock"]:
        before = copy.deepcopy(state["_value"])
        thread.start()
        thread.join(0.2)
        assert state["_value"] == before
        assert thread.is_alive()
    thread.join()

    point = point_of(reader)
    assert (getattr(point, "value", None) or point.sum) == 11


@pytest.mark.parametrize("kind", ["counter", "up_down_counter", "histogram"])
def test_a_lock_of_another_kind_is_taken(meter, reader, kind):
    """Such as gevent's, which has its own idea of who may run."""
    taken = []

    class Counted:
        """A lock that counts."""

        def __enter__(self):
            taken.append(1)

        def __exit__(self, *exception):
            pass

    instrument = getattr(meter, f"create_{kind}")("numbers")
    instrument_state = otel_fastpath.bind(instrument)
    verb = getattr(instrument_state, KINDS[kind])
    with mock.patch("opentelemetry.sdk.metrics._internal.aggregation.Lock", Counted):
        verb(2)
    verb(2)
    taken.clear()

    verb(2)

    assert taken
    point = point_of(reader)
    assert (getattr(point, "value", None) or point.sum) == 6


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
