"""Providers: readers, views, exemplar filters, by their names in a program."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from opentelemetry.sdk.metrics import (
    AlwaysOffExemplarFilter,
    AlwaysOnExemplarFilter,
    Counter,
    Histogram,
    ObservableCounter,
    TraceBasedExemplarFilter,
    UpDownCounter,
)
from opentelemetry.sdk.metrics import _Gauge as Gauge
from opentelemetry.sdk.metrics._internal.exemplar import SimpleFixedSizeExemplarReservoir
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import (
    DropAggregation,
    ExplicitBucketHistogramAggregation,
    ExponentialBucketHistogramAggregation,
    LastValueAggregation,
    SumAggregation,
    View,
)

DELTA = dict.fromkeys((Counter, UpDownCounter, Histogram, Gauge, ObservableCounter), AggregationTemporality.DELTA)


class OwnFilter(AlwaysOnExemplarFilter):
    """A user's."""

    def should_sample(self, value, time_unix_nano, attributes, context):  # noqa: ARG002
        """Every amount above one."""
        return isinstance(value, int | float) and value > 1


class OwnReservoir(SimpleFixedSizeExemplarReservoir):
    """A user's."""

    def __init__(self, **kwargs):
        kwargs.pop("boundaries", None)
        kwargs["size"] = 2
        super().__init__(**kwargs)


class OwnSum(SumAggregation):
    """A user's: makes stock's."""


class OwnView(View):
    """A user's, though it is not meant to be."""


READERS = {
    "cumulative": InMemoryMetricReader,
    "delta": lambda: InMemoryMetricReader(preferred_temporality=DELTA),
    "exponential": lambda: InMemoryMetricReader(
        preferred_aggregation={Histogram: ExponentialBucketHistogramAggregation(max_size=8)}
    ),
    "exponential delta": lambda: InMemoryMetricReader(
        preferred_temporality=DELTA, preferred_aggregation={Histogram: ExponentialBucketHistogramAggregation()}
    ),
}
VIEWS = {
    "only a": lambda: View(instrument_name="*", attribute_keys={"a"}),
    "list of keys": lambda: View(instrument_name="*histogram", attribute_keys=["b", "c"]),
    "no keys": lambda: View(instrument_name="counter", name="bare", attribute_keys=set()),
    "buckets": lambda: View(instrument_type=Histogram, aggregation=ExplicitBucketHistogramAggregation([0, 1.5, 5])),
    "no extremes": lambda: View(
        instrument_type=Histogram, aggregation=ExplicitBucketHistogramAggregation([1.0], record_min_max=False)
    ),
    "no buckets": lambda: View(instrument_name="gauge", aggregation=ExplicitBucketHistogramAggregation([])),
    "sum of all": lambda: View(meter_name="pairs", name="sums", aggregation=SumAggregation()),
    "last of all": lambda: View(meter_name="pairs", name="lasts", aggregation=LastValueAggregation()),
    "drop": lambda: View(instrument_name="counter", aggregation=DropAggregation()),
    "exponential": lambda: View(instrument_type=Histogram, aggregation=ExponentialBucketHistogramAggregation()),
    "reservoir": lambda: View(instrument_name="*", exemplar_reservoir_factory=lambda _kind: OwnReservoir),
    "own sum": lambda: View(instrument_name="counter", aggregation=OwnSum()),
    "own view": lambda: OwnView(instrument_name="*", attribute_keys={"b"}),
}
if "aggregation_cardinality_limit" in inspect.signature(View).parameters:
    # Since 1.45.2.
    VIEWS["limit"] = lambda: View(instrument_name="*", aggregation_cardinality_limit=2)
FILTERS = {
    "default": TraceBasedExemplarFilter,
    "on": AlwaysOnExemplarFilter,
    "off": AlwaysOffExemplarFilter,
    "own": OwnFilter,
}


@dataclass(frozen=True)
class Setup:
    """What a program runs in.

    Attributes:
        readers: Names of `READERS`.
        views: Names of `VIEWS`.
        sampling: One of `FILTERS`.
        seed: Of the random numbers.
    """

    readers: tuple[str, ...] = ("cumulative",)
    views: tuple[str, ...] = ()
    sampling: str = "default"
    seed: int = 0
