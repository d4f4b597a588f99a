"""Nothing is kept: attribute sets that never come again, and providers that are gone, leave memory as it was."""

from __future__ import annotations

import gc
import inspect
import sys
import weakref
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider, UpDownCounter
from opentelemetry.sdk.metrics import _Gauge as Gauge
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

import otel_fastpath

DELTA = dict.fromkeys((Counter, UpDownCounter, Histogram, Gauge), AggregationTemporality.DELTA)
SAMPLED = trace.set_span_in_context(NonRecordingSpan(SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(1))))
MAKE = {
    "counter": lambda meter: meter.create_counter("churned").add,
    "up_down_counter": lambda meter: meter.create_up_down_counter("churned").add,
    "histogram": lambda meter: meter.create_histogram("churned").record,
    "gauge": lambda meter: meter.create_gauge("churned").set,
}
VIEWS = {
    "taken away by a view": {"attribute_keys": {"route"}},
    # Since 1.45.2.
    "beyond the limit": {"aggregation_cardinality_limit": 4},
}
# As many sets as are known at once where stock keeps one series, and where it keeps four: see `metrics.planner`.
CYCLES = {"taken away by a view": 1028, "beyond the limit": 1040}


def held():
    """Objects and blocks that the interpreter holds."""
    for _ in range(3):
        gc.collect()
    return len(gc.get_objects()), sys.getallocatedblocks()


MOST_MEGABYTES = 8


def resident():
    """Megabytes that the process occupies."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("temporality", ["cumulative", "delta"])
@pytest.mark.parametrize(
    "kind",
    ["counter", "histogram", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("up_down_counter", "gauge"))],
)
@pytest.mark.parametrize("view", VIEWS)
def test_sets_that_never_come_again_leave_nothing(view, kind, temporality):
    """However many there were, the objects, blocks and megabytes held are as many, exemplars and all."""
    if not VIEWS[view].keys() <= inspect.signature(View).parameters.keys():
        pytest.skip("this SDK has no limit of cardinality")
    reader = InMemoryMetricReader(preferred_temporality=DELTA if temporality == "delta" else {})
    provider = MeterProvider(
        metric_readers=[reader], shutdown_on_exit=False, views=[View(instrument_name="*", **VIEWS[view])]
    )
    record = MAKE[kind](provider.get_meter("leaks"))

    def churn(cycles):
        for number in range(cycles * CYCLES[view]):
            record(1, {"route": "/a", "request": churn.number}, SAMPLED)
            churn.number += 1
            if number % 257 == 0:
                reader.get_metrics_data()
        reader.get_metrics_data()

    churn.number = 0
    churn(2)
    # A process that other tests left large takes pages for itself now and then. A leak takes them each time.
    for is_last in (False, False, True):
        before, megabytes = held(), resident()
        churn(6)
        after = held()

        assert after[0] - before[0] < 100
        assert after[1] - before[1] < 300
        if (grown := resident() - megabytes) < MOST_MEGABYTES:
            break
        assert not is_last, grown
    provider.shutdown()


def _one_life(kind):
    """A provider with all that recording makes, collected; what it gives goes when they are gone."""
    reader = InMemoryMetricReader(preferred_temporality=DELTA)
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    record = MAKE[kind](provider.get_meter("leaks"))
    bound = otel_fastpath.bind(record.__self__, {"bound": True})
    for number in range(50):
        for _ in range(3):
            record(number, {"number": number}, SAMPLED)
            getattr(bound, record.__name__)(number, SAMPLED)
        if number % 10 == 0:
            reader.get_metrics_data()
    provider.shutdown()
    return weakref.ref(provider), weakref.ref(record.__self__)


def ours():
    """How many objects there are of classes of the hot modules'."""
    gc.collect()
    return sum(
        str(type(each).__module__).startswith(("otel_fastpath.metrics.", "otel_fastpath.trace."))
        for each in gc.get_objects()
    )


@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize("kind", MAKE)
def test_providers_and_instruments_are_freed(kind):
    """With their series, buckets and bound instruments."""
    before = ours()
    gone = [each for _ in range(5) for each in _one_life(kind)]

    assert ours() == before
    assert {each() for each in gone} == {None}
