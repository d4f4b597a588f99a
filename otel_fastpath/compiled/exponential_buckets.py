"""The buckets of stock's exponential histograms; the C forms are in `exponential_buckets_c.pxd`."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Of floats, as in stock's mappings; `math.frexp` gives a power of two as one half, and the next exponent.
_LEAST_NORMAL = sys.float_info.min
_LEAST_EXPONENT = -1022
_MOST_EXPONENT = 1024
_HALF = 0.5
# From this scale on, the bucket with the least normal amount has others, too.
_LAST_EVEN = -2


def rotate(items: list[Any], count: int) -> list[Any]:
    """A copy of the list that begins with so many of its last items, which are at least none and at most all."""
    return items[-count:] + items[:-count]


def add_to_exponential(
    is_locked: Callable[[], bool],  # noqa: ARG001  # for the C form, as all others
    state: dict[str, Any],  # noqa: ARG001
    buckets: object,  # noqa: ARG001
    own: dict[str, Any],  # noqa: ARG001
    amount: float,  # noqa: ARG001
    is_negative: bool,  # noqa: ARG001
    index: int,  # noqa: ARG001
    mapping: object,  # noqa: ARG001
    scale: int,  # noqa: ARG001
    keeps_extremes: bool,  # noqa: ARG001
) -> bool:
    """As `helpers.add_to_histogram`, for an exponential histogram that has the amount's bucket, at this scale.

    Args:
        is_locked: As for `add_to_sum`.
        state: Has `_mapping`, `_scale`, `_value_positive`, `_value_negative`, `_sum`, `_count`, `_min` and `_max`.
        buckets: Stock's buckets.
        own: Their `__dict__`.
        amount: An int or a float, but zero.
        is_negative: Whether these are the buckets of negative amounts.
        index: That of the amount's bucket.
        mapping: Stock's mapping, which gives this index.
        scale: The scale of the mapping.
        keeps_extremes: Whether the histogram has minimum and maximum.
    """
    return False


def bucket_index(amount: float, scale: int, factor: float) -> int:
    """The index of an amount's bucket in an exponential histogram, as stock's mappings find it.

    Args:
        amount: Finite and above zero; it need not be exact as a float.
        scale: From -10 to 20.
        factor: What its logarithm is multiplied with, at scales above zero.
    """
    mantissa, exponent = math.frexp(amount)
    if scale <= 0:
        if amount < _LEAST_NORMAL:
            index = _LEAST_EXPONENT >> -scale
            return index - 1 if scale > _LAST_EVEN else index
        return (exponent - (2 if mantissa == _HALF else 1)) >> -scale
    if amount <= _LEAST_NORMAL:
        return (_LEAST_EXPONENT << scale) - 1
    if mantissa == _HALF:
        return ((exponent - 1) << scale) - 1
    return min(math.floor(math.log(amount) * factor), (_MOST_EXPONENT << scale) - 1)
