"""Programs of metrics: each instrument, attributes that come again, views, readers, aggregations, exemplars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import (
    AlwaysOffExemplarFilter,
    AlwaysOnExemplarFilter,
    Counter,
    Histogram,
    ObservableCounter,
    UpDownCounter,
)
from opentelemetry.sdk.metrics._internal.point import Buckets
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Metric,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.metrics.view import (
    DropAggregation,
    ExplicitBucketHistogramAggregation,
    ExponentialBucketHistogramAggregation,
    LastValueAggregation,
    SumAggregation,
    View,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from otel_fastpath.tools.prove.program import Program
from otel_fastpath.tools.prove.values_drawn import attributes, body

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from opentelemetry import trace

    from otel_fastpath.tools.prove.program import ProgramRun

_MEASUREMENTS: Final = 60
_AMOUNTS: Final = (0, 1, 2, 5, 0.5, 7.25, 1e6, -3)
_DELTA: Final[dict[type, AggregationTemporality]] = dict.fromkeys(
    (Counter, UpDownCounter, Histogram, ObservableCounter), AggregationTemporality.DELTA
)
_WRONG_BOUNDARIES: Final[dict[str, list[float]]] = {"own": [3, 1], "histogram": [0, float("inf")]}
_SETUPS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"reader": {"preferred_temporality": _DELTA}},
    {
        "measuring": {
            "views": [
                View(instrument_name="*", attribute_keys={"user.id", "ok"}),
                View(instrument_type=Histogram, aggregation=ExplicitBucketHistogramAggregation([0, 1.5, 5])),
                View(instrument_name="counter", name="last", aggregation=LastValueAggregation()),
            ]
        }
    },
    {
        "measuring": {
            "exemplar_filter": AlwaysOnExemplarFilter(),
            "views": [View(instrument_type=Histogram, aggregation=ExponentialBucketHistogramAggregation(max_size=8))],
        },
        "is_read_twice": True,
    },
    {
        "measuring": {
            "exemplar_filter": AlwaysOffExemplarFilter(),
            "views": [
                View(instrument_name="gauge", aggregation=DropAggregation()),
                View(meter_name="program", instrument_name="up*", aggregation=SumAggregation()),
            ],
        },
        "reader": {"preferred_aggregation": {Histogram: ExponentialBucketHistogramAggregation()}},
    },
    {
        "measuring": {
            "views": [
                View(instrument_name=name, aggregation=ExplicitBucketHistogramAggregation(boundaries))
                for name, boundaries in _WRONG_BOUNDARIES.items()
            ]
        }
    },
    {"is_measured": True},
    {"is_measured": True, "status": 400},
    {"status": 0},
    {"exporting": {"compression": Compression.Deflate}, "reader": {"max_export_batch_size": 2}},
)


_MISTAKES: Final[tuple[Any, ...]] = (None, "1", float("nan"), float("inf"))


def _observed(_options: CallbackOptions) -> Iterable[Observation]:
    return [Observation(3, {"key": "a"}), Observation(4.5, {"key": "b"})]


def _measure(run: ProgramRun, calls: list[Any], draw: random.Random, tracer: trace.Tracer) -> None:
    sets = [None, {}, *(attributes(draw, make=body) for _ in range(4))]
    for _ in range(_MEASUREMENTS):
        run.attempt(draw.choice(calls), draw.choice(_AMOUNTS), draw.choice(sets))
    run.attempt(draw.choice(calls[:-1]), draw.choice(_MISTAKES), draw.choice(sets))
    # What a gauge or an exemplar keeps of a mistake is the loss of the batch, with stock: docs/differences.md.
    for amount in (draw.choice(_MISTAKES), 1) if run.seed % len(_SETUPS) == 0 else ():
        run.attempt(calls[-1], amount, {"key": "again"})
    with tracer.start_as_current_span("measured"):
        for call in calls:
            run.attempt(call, draw.choice(_AMOUNTS), draw.choice(sets))


def _export_made(exporter: Any, draw: random.Random) -> None:
    """Metrics that no instrument has measured, as by bridges from other formats."""
    positive, negative = (Buckets(3, draw.choice(([], [1, 2]))) for _ in range(2))
    point = ExponentialHistogramDataPoint(
        attributes(draw, make=body), 1, 2, 3, 4.5, 1, 0, positive, negative, 0, 0.5, 2.5
    )
    wrong: Any = draw.choice((None, "no data"))
    metrics = [
        Metric("made", "of nothing", "1", ExponentialHistogram([point], AggregationTemporality.DELTA)),
        Metric("wrong", "", "", wrong),
    ]
    scopes = [ScopeMetrics(InstrumentationScope("bridge"), metrics, "")]
    exporter.export(MetricsData([ResourceMetrics(Resource({"service.name": "another"}), scopes, "")]))


def _run_metrics(run: ProgramRun) -> None:
    telemetry = run.telemetry(**_SETUPS[run.seed % len(_SETUPS)])
    meter = telemetry.meters.get_meter("program", "1.0", "https://schema", {"scope": 1})
    calls = [
        meter.create_counter("counter", "1", "how many").add,
        meter.create_up_down_counter("up_down_counter").add,
        meter.create_histogram("histogram", "By", "how large").record,
        meter.create_histogram("own", explicit_bucket_boundaries_advisory=[0.5, 1, 5.0]).record,
        meter.create_gauge("gauge").set,
    ]
    meter.create_observable_counter("observed", [_observed])
    meter.create_observable_gauge("watched", [_observed])
    meter.create_observable_up_down_counter("both", [_observed])
    tracer = telemetry.tracers.get_tracer("program")
    for draw in run.halves():
        # What is measured twice is known the second time.
        for _ in range(2):
            _measure(run, calls, draw, tracer)
            if run.seed % 3 == 0:
                telemetry.switch(is_on=False)
                run.attempt(calls[0], 1)
                for call in calls:
                    run.attempt(call, 2, {"key": "off"})
                telemetry.switch(is_on=True)
            with tracer.start_as_current_span("collected"):
                run.attempt(telemetry.flush)
        again = telemetry.meters.get_meter("program", "1.0", "https://schema")
        run.attempt(again.create_counter("again").add, 1)
        run.attempt(_export_made, telemetry.metric_exporter, draw)
    telemetry.meters.shutdown()
    # What comes too late.
    run.attempt(calls[0], 1)


def metric_programs(first: int, number: int) -> list[Program]:
    """So many programs, from this seed on."""
    return [Program(f"metrics {seed}", seed, _run_metrics) for seed in range(first, first + number)]
