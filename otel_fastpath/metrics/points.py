"""Collecting points. Plain Python; compiled as `points_c` with the types of its `.pxd`.

A point is the one that stock's aggregation would return now, and the aggregation is left in the same state. Its lock
is held only to take out its values, or, in C, nobody holds it and no other thread runs. Nothing is called and no object
is made meanwhile, so that no signal handler or finalizer, which may record a measurement, runs in between.
"""

from __future__ import annotations

import math
from _thread import LockType
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics._internal.aggregation import (
    AggregationTemporality,
    _ExplicitBucketHistogramAggregation,
    _ExponentialBucketHistogramAggregation,
    _LastValueAggregation,
    _SumAggregation,
)
from opentelemetry.sdk.metrics._internal.exemplar import (
    AlignedHistogramBucketExemplarReservoir,
    SimpleFixedSizeExemplarReservoir,
)
from opentelemetry.sdk.metrics._internal.exemplar.exemplar_reservoir import ExemplarBucket
from opentelemetry.sdk.metrics._internal.point import (
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    NumberDataPoint,
)

from otel_fastpath.compiled.taking_points import take_histogram, take_sum, with_fields
from otel_fastpath.metrics.exponential_points import take_cumulative, take_delta

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.sdk.metrics._internal.exemplar.exemplar import Exemplar

    _Point = NumberDataPoint | HistogramDataPoint | ExponentialHistogramDataPoint


# After so many points, other threads may run.
_STRETCH: Final = 16
_DELTA = AggregationTemporality.DELTA
_CUMULATIVE = AggregationTemporality.CUMULATIVE
_INFINITY: Final = math.inf
# The fields of points, in stock's order.
_OF_NUMBERS: Final = dict.fromkeys(("attributes", "start_time_unix_nano", "time_unix_nano", "value", "exemplars"))
_OF_HISTOGRAMS: Final = dict.fromkeys(
    (
        *("attributes", "start_time_unix_nano", "time_unix_nano", "count", "sum"),
        *("bucket_counts", "explicit_bounds", "min", "max", "exemplars"),
    )
)


def points_of(
    aggregations: list[Any], temporality: AggregationTemporality, start: int, turn: Callable[[], None]
) -> list[_Point]:
    """The points of one stream, in order. An aggregation has none if stock would return none.

    Args:
        aggregations: Stock's aggregations; those of other types are collected by their own `collect` method.
        temporality: That of the reader for this instrument.
        start: When the collection began.
        turn: Called now and then, with no lock held, to let other threads run.
    """
    points: list[_Point] = []
    left = _STRETCH
    for aggregation in aggregations:
        kind = type(aggregation)
        if kind is _ExplicitBucketHistogramAggregation:
            point = _histogram_point(aggregation, temporality, start)
        elif kind is _SumAggregation:
            point = _sum_point(aggregation, temporality, start)
        elif kind is _LastValueAggregation:
            point = _last_point(aggregation, temporality, start)
        elif kind is _ExponentialBucketHistogramAggregation:
            point = _exponential_point(aggregation, temporality, start)
        else:
            point = aggregation.collect(temporality, start)
        if point is not None:
            points.append(point)
        left -= 1
        if not left:
            left = _STRETCH
            turn()
    return points


def _histogram_point(
    aggregation: _ExplicitBucketHistogramAggregation, temporality: AggregationTemporality, start: int
) -> _Point | None:
    state = aggregation.__dict__
    if state["_instrument_aggregation_temporality"] is not _DELTA or "collect" in state:
        return aggregation.collect(temporality, start)
    if temporality is not _DELTA:
        fields = take_histogram(state, LockType, _OF_HISTOGRAMS, start)
        if fields is not None:
            fields["exemplars"] = _exemplars(state)
            return with_fields(HistogramDataPoint, fields)
    if not (_is_number(state["_sum"]) and _is_number(state["_previous_sum"])):
        return aggregation.collect(temporality, start)
    with state["_lock"]:
        counts, total = state["_value"], state["_sum"]
        least, most = state["_min"], state["_max"]
        begin = state["_start_time_unix_nano"]
        if temporality is _DELTA:
            begin = state["_previous_collection_start_nano"]
            state["_previous_collection_start_nano"] = start
        state["_value"] = None
        state["_sum"] = 0
        state["_min"] = _INFINITY
        state["_max"] = -_INFINITY
    if temporality is not _DELTA:
        # In a loop, as other threads may collect at the same time.
        while True:
            before = state["_previous_value"]
            merged = _merge(before, counts, state["_boundaries"])
            with state["_lock"]:
                if state["_previous_value"] is before:
                    state["_previous_value"] = merged
                    # Compared in stock's order, which decides the result if an int equals a float.
                    if state["_previous_min"] < least:  # noqa: PLR1730  # min() and max() would be calls
                        least = state["_previous_min"]
                    state["_previous_min"] = least
                    if state["_previous_max"] > most:  # noqa: PLR1730  # likewise
                        most = state["_previous_max"]
                    state["_previous_max"] = most
                    total = state["_previous_sum"] = total + state["_previous_sum"]
                    break
        counts = merged
    if counts is None:
        return None
    buckets = tuple(counts)
    fields = {
        "attributes": state["_attributes"],
        "start_time_unix_nano": begin,
        "time_unix_nano": start,
        "count": sum(buckets),
        "sum": total,
        "bucket_counts": buckets,
        "explicit_bounds": state["_boundaries"],
        "min": least,
        "max": most,
        "exemplars": _exemplars(state),
    }
    return with_fields(HistogramDataPoint, fields)


def _exponential_point(
    aggregation: _ExponentialBucketHistogramAggregation, temporality: AggregationTemporality, start: int
) -> _Point | None:
    state = aggregation.__dict__
    if state["_instrument_aggregation_temporality"] is not _DELTA or "collect" in state:
        return aggregation.collect(temporality, start)
    if not (_is_number(state["_sum"]) and _is_number(state["_previous_sum"])):
        return aggregation.collect(temporality, start)
    with state["_lock"]:
        taken = take_delta(state, start) if temporality is _DELTA else take_cumulative(state, start)
    if taken is True:
        return aggregation.collect(temporality, start)
    if taken is False:
        return None
    taken["exemplars"] = _exemplars(state)
    return with_fields(ExponentialHistogramDataPoint, taken)


def _is_number(value: object) -> bool:
    """Whether it is None, or can be added to any other number. A Decimal and a float cannot: stock must raise."""
    kind = type(value)
    return kind is int or kind is float or value is None


def _merge(before: list[int] | None, counts: list[int] | None, boundaries: Sequence[float]) -> list[int]:
    """The counts plus those of earlier collections; a new list if neither is None."""
    if before is None:
        return [0] * (len(boundaries) + 1) if counts is None else counts
    if counts is None:
        return before
    merged = before.copy()
    index = 0
    for count in counts:
        # Most buckets have no new counts.
        if count:
            merged[index] += count
        index += 1  # noqa: SIM113  # a C integer, which enumerate() would not give
    return merged


def _sum_point(aggregation: _SumAggregation, temporality: AggregationTemporality, start: int) -> _Point | None:
    state = aggregation.__dict__
    if "collect" in state:
        return aggregation.collect(temporality, start)
    if temporality is not _DELTA and state["_instrument_aggregation_temporality"] is _DELTA:
        fields = take_sum(state, LockType, _OF_NUMBERS, start)
        if fields is not None:
            fields["exemplars"] = _exemplars(state)
            return with_fields(NumberDataPoint, fields)
    if not (_is_number(state["_value"]) and _is_number(state["_previous_value"])):
        return aggregation.collect(temporality, start)
    with state["_lock"]:
        value = state["_value"]
        begin = state["_start_time_unix_nano"]
        if state["_instrument_aggregation_temporality"] is _DELTA:
            if temporality is _DELTA:
                begin = state["_previous_collection_start_nano"]
                state["_previous_collection_start_nano"] = start
            else:
                value = state["_previous_value"] = (0 if value is None else value) + state["_previous_value"]
        elif temporality is _DELTA and value is not None:
            total = value
            value = total - state["_previous_value"]
            state["_previous_value"] = total
            begin = state["_previous_collection_start_nano"]
            state["_previous_collection_start_nano"] = start
        state["_value"] = None
    return None if value is None else _number_point(state, begin, start, value)


def _last_point(aggregation: _LastValueAggregation, temporality: AggregationTemporality, start: int) -> _Point | None:
    state = aggregation.__dict__
    if "collect" in state:
        return aggregation.collect(temporality, start)
    # Before 1.45, the value was never kept.
    keeps = temporality is _CUMULATIVE and state.get("_instrument_is_synchronous", False)
    with state["_lock"]:
        value = state["_value"]
        if not keeps:
            state["_value"] = None
    return None if value is None else _number_point(state, None, start, value)


def _number_point(state: dict[str, Any], begin: int | None, start: int, value: float) -> NumberDataPoint:
    fields = {
        "attributes": state["_attributes"],
        "start_time_unix_nano": begin,
        "time_unix_nano": start,
        "value": value,
        "exemplars": _exemplars(state),
    }
    return with_fields(NumberDataPoint, fields)


def _exemplars(state: dict[str, Any]) -> Sequence[Exemplar]:
    """Take the exemplars out of the aggregation's reservoir."""
    reservoir = state["_reservoir"]
    kind = type(reservoir)
    if kind is not AlignedHistogramBucketExemplarReservoir and kind is not SimpleFixedSizeExemplarReservoir:
        return reservoir.collect(state["_attributes"])  # type: ignore[no-any-return]  # by stock's own method
    own = reservoir.__dict__
    if "collect" in own:
        return reservoir.collect(state["_attributes"])  # type: ignore[no-any-return]  # likewise
    is_simple = kind is SimpleFixedSizeExemplarReservoir
    buckets = own["_reservoir_storage"]
    if not buckets and not (is_simple and own["_measurements_seen"]):
        return []
    found: list[Exemplar] = []
    # Since 1.45.
    lock = own.get("_lock")
    for index in sorted(buckets):
        bucket = buckets[index]
        if lock is not None and type(bucket) is ExemplarBucket:
            # Stock's own bucket is removed first, so that nothing is offered to it meanwhile. Ours need no lock.
            with lock:
                if buckets[index] is bucket:
                    del buckets[index]
                else:
                    bucket = buckets[index]
        exemplar = bucket.collect(state["_attributes"])
        if exemplar is not None:
            found.append(exemplar)
    if is_simple:
        own["_measurements_seen"] = 0
    return found
