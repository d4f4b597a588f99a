"""Collecting exponential histograms. Plain Python; compiled as `exponential_points_c` with the types of its `.pxd`.

What needs another scale, and what is not exactly stock's, is left to the aggregation's own method. Its lock is held to
the end as stock holds it: the buckets that are added up are those that amounts are added to.
"""

from __future__ import annotations

import math
from typing import Any, Final

from opentelemetry.sdk.metrics._internal.exponential_histogram.buckets import Buckets
from opentelemetry.sdk.metrics._internal.point import Buckets as BucketsPoint

from otel_fastpath.compiled.exponential_buckets import rotate
from otel_fastpath.compiled.taking_points import with_fields

_INFINITY: Final = math.inf
_LEAST: Final = -math.inf
_POSITIVE = "_value_positive"
_NEGATIVE = "_value_negative"
_EARLIER_POSITIVE = "_previous_value_positive"
_EARLIER_NEGATIVE = "_previous_value_negative"
_BASE = "_Buckets__index_base"
_START = "_Buckets__index_start"
_END = "_Buckets__index_end"


def take_delta(state: dict[str, Any], start: int) -> dict[str, Any] | bool:
    """Take what was recorded since the last collection.

    Args:
        state: The aggregation's `__dict__`; its lock is held.
        start: When the collection began.

    Returns:
        The fields of the point but its exemplars; False if nothing was recorded; True if this is left to stock.
    """
    positive, negative = state[_POSITIVE], state[_NEGATIVE]
    most = state["_max_size"]
    if positive is None and negative is None:
        fields = None
    else:
        own_positive, own_negative = _own(positive, most), _own(negative, most)
        if own_positive is None or own_negative is None:
            return True
        fields = {
            "attributes": state["_attributes"],
            "start_time_unix_nano": state["_previous_collection_start_nano"],
            "time_unix_nano": start,
            "count": state["_count"],
            "sum": state["_sum"],
            "scale": state["_scale"],
            "zero_count": state["_zero_count"],
            "positive": _buckets_point(own_positive),
            "negative": _buckets_point(own_negative),
            "flags": 0,
            "min": state["_min"],
            "max": state["_max"],
        }
    state["_previous_collection_start_nano"] = start
    _reset(state)
    return False if fields is None else fields


def take_cumulative(state: dict[str, Any], start: int) -> dict[str, Any] | bool:
    """Add what was recorded since the last collection to what was before; as `take_delta`, but never False."""
    positive, negative, scale = state[_POSITIVE], state[_NEGATIVE], state["_scale"]
    before, below, earlier = state[_EARLIER_POSITIVE], state[_EARLIER_NEGATIVE], state["_previous_scale"]
    most = state["_max_size"]
    if before is None and below is None and earlier is None:
        # There is nothing to add to: what was recorded is what was before from now on.
        before, below, earlier = positive, negative, scale
        positive = negative = scale = None
    own_before, own_below = _own(before, most), _own(below, most)
    if own_before is None or own_below is None or type(earlier) is not int:
        return True
    if positive is not None or negative is not None or scale is not None:
        own_positive, own_negative = _own(positive, most), _own(negative, most)
        if own_positive is None or own_negative is None or type(scale) is not int or scale < earlier:
            return True
        change = scale - earlier
        if not (_can_add(own_positive, own_before, change, most) and _can_add(own_negative, own_below, change, most)):
            return True
    else:
        own_positive = own_negative = None
        change = 0
    # In stock's order, which decides the result if an int equals a float.
    least, largest = min(state["_min"], state["_previous_min"]), max(state["_max"], state["_previous_max"])
    total, count = state["_sum"] + state["_previous_sum"], state["_count"] + state["_previous_count"]
    zeros = state["_zero_count"] + state["_previous_zero_count"]
    # First, so that nothing is added twice, whatever fails from here on.
    _reset(state)
    state[_EARLIER_POSITIVE] = before
    state[_EARLIER_NEGATIVE] = below
    state["_previous_scale"] = earlier
    state["_previous_min"] = least
    state["_previous_max"] = largest
    state["_previous_sum"] = total
    state["_previous_count"] = count
    state["_previous_zero_count"] = zeros
    if own_positive is not None and own_negative is not None:
        _add(own_positive, before, own_before, change, most)
        _add(own_negative, below, own_below, change, most)
    return {
        "attributes": state["_attributes"],
        "start_time_unix_nano": state["_start_time_unix_nano"],
        "time_unix_nano": start,
        "count": count,
        "sum": total,
        "scale": earlier,
        "zero_count": zeros,
        "positive": _buckets_point(own_before),
        "negative": _buckets_point(own_below),
        "flags": 0,
        "min": least,
        "max": largest,
    }


def _reset(state: dict[str, Any]) -> None:
    state[_POSITIVE] = state[_NEGATIVE] = state["_scale"] = None
    state["_sum"] = state["_count"] = state["_zero_count"] = 0
    state["_min"] = _INFINITY
    state["_max"] = _LEAST


def _own(buckets: Any, most: int) -> dict[str, Any] | None:
    """The `__dict__` of buckets that are exactly stock's and fit into the maximum size; None for any other."""
    if type(buckets) is not Buckets:
        return None
    own: dict[str, Any] = buckets.__dict__
    start, end, base = own[_START], own[_END], own[_BASE]
    return own if start <= base <= end and end - start < most and end - start < len(own["_counts"]) else None


def _can_add(own: dict[str, Any], earlier: dict[str, Any], change: int, most: int) -> bool:
    """Whether buckets can be added to earlier ones, at the scale of these, without a further change of scale."""
    counts: list[int] = own["_counts"]
    if len(counts) == 1 and not counts[0]:
        return True
    start, end, base = own[_START], own[_END], own[_BASE]
    if not counts[start - base] or not counts[end - base]:
        # Stock widens the earlier ones only as far as something was counted.
        return False
    low, high = earlier[_START], earlier[_END]
    first, last = start >> change, end >> change
    return (max(high, last)) - (min(low, first)) < most  # type: ignore[no-any-return]


def _add(own: dict[str, Any], earlier: Any, own_earlier: dict[str, Any], change: int, most: int) -> None:
    """Add buckets to earlier ones."""
    counts: list[int] = own["_counts"]
    if len(counts) == 1 and not counts[0]:
        return
    base, end = own[_BASE], own[_END]
    low, high = own_earlier[_START], own_earlier[_END]
    first, last = min(own[_START] >> change, low), max(end >> change, high)
    if first != low or last != high:
        if last - first >= len(own_earlier["_counts"]):
            earlier.grow(last - first + 1, most)
        own_earlier[_START], own_earlier[_END] = first, last
    target, target_base = own_earlier["_counts"], own_earlier[_BASE]
    index, size = base, len(counts)
    for count in counts:
        # Most buckets have no new counts.
        if count:
            target[((index if index <= end else index - size) >> change) - target_base] += count
        index += 1  # a C integer, which enumerate() would not give


def _buckets_point(own: dict[str, Any]) -> BucketsPoint:
    """What stock's `offset` and `get_offset_counts` give of buckets."""
    start = own[_START]
    return with_fields(BucketsPoint, {"offset": start, "bucket_counts": rotate(own["_counts"], own[_BASE] - start)})
