"""Amounts in exponential histograms. Plain Python; compiled as `exponential_c` with the types of its `.pxd`.

An amount is added to stock's own buckets, as its aggregation does, but for a change of scale: that is left to it. A
measurement needs none as soon as the scale fits, so the calls that find a bucket and its place are all that is saved.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics._internal.exponential_histogram.buckets import Buckets
from opentelemetry.sdk.metrics._internal.exponential_histogram.mapping.exponent_mapping import ExponentMapping
from opentelemetry.sdk.metrics._internal.exponential_histogram.mapping.logarithm_mapping import LogarithmMapping

from otel_fastpath.compiled.exponential_buckets import add_to_exponential, bucket_index
from otel_fastpath.compiled.helpers import is_free
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.compiled.taking_points import with_fields
from otel_fastpath.metrics.instruments.reentry import hold_locks
from otel_fastpath.metrics.instruments.series import BucketScale

if TYPE_CHECKING:
    from otel_fastpath.metrics.instruments import series as kinds

# What `add_to_buckets` returns where it has not added the amount. `_AGAIN`: the scale has changed meanwhile.
DROPPED = -1
LEFT = -3
_AGAIN = -4
EXPONENTIAL = 5

# Stock's mappings, and their scales.
_SCALES: Final[dict[type, range]] = {LogarithmMapping: range(1, 21), ExponentMapping: range(-10, 1)}
_POSITIVE = "_value_positive"
_NEGATIVE = "_value_negative"
_BASE = "_Buckets__index_base"
_START = "_Buckets__index_start"
_END = "_Buckets__index_end"


def add_to_buckets(cell: kinds.SeriesCell, amount: float) -> int:
    """Add the amount to an exponential histogram; 0 if that is done, or `DROPPED` or `LEFT`."""
    state = cell.state
    is_negative = amount < 0
    number = -amount if is_negative else amount
    while True:
        scale = _scale_of(cell)
        if scale is None or scale.mapping is not state["_mapping"]:
            scale = _read_scale(state["_mapping"])
            if scale is None:
                return LEFT
            _use_scale(cell, scale)
        index = bucket_index(number, scale.number, scale.factor) if number else 0
        buckets = state[_NEGATIVE if is_negative else _POSITIVE]
        result = _AGAIN
        if type(buckets) is Buckets:
            if number:
                result = _add_known(cell, amount, index, scale, buckets)
        elif buckets is None and number and cell.is_locked is not None and _try_begin(cell, amount, index, scale):
            return 0
        if result == _AGAIN:
            result = hold_locks(_add_locked, cell, amount, number, index, scale)
        if result != _AGAIN:
            return result


def _add_known(cell: kinds.SeriesCell, amount: float, index: int, scale: BucketScale, buckets: Any) -> int:
    """Add the amount if its bucket is there already; nothing is called while the lock is held."""
    state = cell.state
    own = buckets.__dict__
    is_negative = amount < 0
    if cell.is_locked is not None and add_to_exponential(
        cell.is_locked,
        state,
        buckets,
        own,
        amount,
        is_negative,
        index,
        scale.mapping,
        scale.number,
        cell.keeps_extremes,
    ):
        return 0
    with cell.lock:
        if cell.home is not None and cell.match._attributes_aggregation is not cell.home[0]:
            return DROPPED
        if state[_NEGATIVE if is_negative else _POSITIVE] is not buckets or state["_mapping"] is not scale.mapping:
            return _AGAIN
        if index < own[_START] or index > own[_END]:
            return _AGAIN
        state["_sum"] += amount
        if cell.keeps_extremes:
            # min() and max() would be calls.
            if amount < state["_min"]:  # noqa: PLR1730  # see above
                state["_min"] = amount
            if amount > state["_max"]:  # noqa: PLR1730  # see above
                state["_max"] = amount
        state["_count"] += 1
        state["_scale"] = scale.number
        counts = own["_counts"]
        counts[index - own[_BASE]] += 1
        return 0


def _try_begin(cell: kinds.SeriesCell, amount: float, index: int, scale: BucketScale) -> bool:
    """Add the first amount since a collection, if there is no need to take the lock; see `helpers.is_free`."""
    state = cell.state
    positive, negative = _new_buckets(), _new_buckets()
    own = (negative if amount < 0 else positive).__dict__
    own[_START] = own[_END] = own[_BASE] = index
    own["_counts"][0] = 1
    if cell.is_locked is None or not is_free(cell.is_locked) or state["_mapping"] is not scale.mapping:
        return False
    total = state["_sum"]
    if type(total) is not int or total or state["_count"] or not (state[_POSITIVE] is state[_NEGATIVE] is None):
        return False
    state[_POSITIVE] = positive
    state[_NEGATIVE] = negative
    state["_sum"] = amount
    state["_count"] = 1
    state["_scale"] = scale.number
    if cell.keeps_extremes:
        state["_min"] = state["_max"] = amount
    return True


def _new_buckets() -> Buckets:
    """As `Buckets()`."""
    return with_fields(Buckets, {"_counts": [0], _BASE: 0, _START: 0, _END: 0})


@critical_section
def _scale_of(cell: kinds.SeriesCell) -> BucketScale | None:
    return cell.scale


@critical_section
def _use_scale(cell: kinds.SeriesCell, scale: BucketScale) -> None:
    cell.scale = scale


def _read_scale(mapping: Any) -> BucketScale | None:
    """The scale of a mapping that is exactly stock's; None for any other."""
    scales = _SCALES.get(type(mapping))
    if scales is None:
        return None
    own = vars(mapping)
    number = own.get("_scale")
    if "map_to_index" in own or type(number) is not int or number not in scales:
        return None
    factor = 0.0
    if number > 0:
        factor = math.ldexp(1 / math.log(2), number)
        if own.get("_scale_factor") != factor:
            return None
    return BucketScale(mapping, number, factor)


def _add_locked(cell: kinds.SeriesCell, amount: float, number: float, index: int, scale: BucketScale) -> int:
    """Add the amount as stock does, or leave everything as it is. Measurements of this thread wait meanwhile."""
    state = cell.state
    name = _NEGATIVE if amount < 0 else _POSITIVE
    with state["_lock"]:
        if cell.home is not None and cell.match._attributes_aggregation is not cell.home[0]:
            return DROPPED
        if state["_mapping"] is not scale.mapping:
            return _AGAIN
        buckets = _new_buckets() if state[name] is None else state[name]
        if type(buckets) is not Buckets:
            return LEFT
        # To an int of zero, Cython's own addition adds -0.0 as it is.
        total = state["_sum"] + (amount or abs(amount))
        if number and not _try_reach(buckets, index, state["_max_size"]):
            return LEFT
        if state[name] is None:
            state[name] = buckets
        if state[_POSITIVE] is None:
            state[_POSITIVE] = _new_buckets()
        if state[_NEGATIVE] is None:
            state[_NEGATIVE] = _new_buckets()
        state["_sum"] = total
        _count(cell, amount)
        if number:
            state["_scale"] = scale.number
            buckets._counts[index - buckets.__dict__[_BASE]] += 1
    return 0


def _count(cell: kinds.SeriesCell, amount: float) -> None:
    """What does not depend on the amount's bucket, but for the sum."""
    state = cell.state
    if cell.keeps_extremes:
        state["_min"] = min(state["_min"], amount)
        state["_max"] = max(state["_max"], amount)
    state["_count"] += 1
    if not amount:
        state["_zero_count"] += 1
        if state["_count"] == state["_zero_count"]:
            state["_scale"] = 0


def _try_reach(buckets: Any, index: int, most: int) -> bool:
    """Widen the buckets, if needed, to have one with this index; False if that takes another scale."""
    own = buckets.__dict__
    start, end, base = own[_START], own[_END], own[_BASE]
    counts = own["_counts"]
    if start == end and not counts[start - base]:
        own[_START] = own[_END] = own[_BASE] = index
        return True
    span = max(end, index) - min(start, index)
    if start <= index <= end:
        return True
    if span >= most:
        return False
    if span >= len(counts):
        buckets.grow(span + 1, most)
    own[_START if index < start else _END] = index
    return True
