"""What this package knows of stock's exponential histograms: sources, and functions that nobody may have replaced."""

from __future__ import annotations

from typing import Final

from opentelemetry.sdk.metrics._internal.aggregation import _ExponentialBucketHistogramAggregation
from opentelemetry.sdk.metrics._internal.exponential_histogram.buckets import Buckets
from opentelemetry.sdk.metrics._internal.exponential_histogram.mapping import (
    exponent_mapping,
    ieee_754,
    logarithm_mapping,
)

from otel_fastpath.patching.stock import unreplaced

_MODULE: Final = "opentelemetry.sdk.metrics._internal"
_AGGREGATION: Final = f"{_MODULE}.aggregation:_ExponentialBucketHistogramAggregation"
_BUCKETS: Final = f"{_MODULE}.exponential_histogram.buckets:Buckets"
_MAPPINGS: Final = f"{_MODULE}.exponential_histogram.mapping"
_IEEE_754: Final = ("get_ieee_754_exponent", "get_ieee_754_mantissa")
# What the recording of an amount rests on.
RECORDING: Final = (
    f"{_AGGREGATION}.__init__",
    f"{_AGGREGATION}.aggregate",
    _BUCKETS,
    *(f"{_MAPPINGS}.ieee_754:{name}" for name in _IEEE_754),
    *(
        f"{_MAPPINGS}.{kind.lower()}_mapping:{kind}Mapping.{method}"
        for kind in ("Exponent", "Logarithm")
        for method in ("_init", "map_to_index")
    ),
)
# What a data point, and the sum of all that were collected before, rest on.
COLLECTING: Final = (
    *(
        f"{_AGGREGATION}.{method}"
        for method in (
            "__init__",
            "_downscale",
            "_get_low_high",
            "_get_low_high_previous_current",
            "_get_scale_change",
            "_merge",
            "collect",
        )
    ),
    _BUCKETS,
    f"{_MODULE}.point:Buckets",
    f"{_MODULE}.point:ExponentialHistogramDataPoint",
)
# What stock calls for an amount, and is not called here.
ADDING: Final = (
    *(unreplaced(Buckets, name) for name in ("__getitem__", "__init__", "__len__", "increment_bucket")),
    *(unreplaced(Buckets, name) for name in ("counts", "index_base", "index_end", "index_start")),
    *(
        unreplaced(kind, name)
        for kind in (exponent_mapping.ExponentMapping, logarithm_mapping.LogarithmMapping)
        for name in ("map_to_index", "scale")
    ),
    *(
        (module, name, unreplaced(ieee_754, name)[2])
        for module in (exponent_mapping, logarithm_mapping)
        for name in _IEEE_754
    ),
    unreplaced(_ExponentialBucketHistogramAggregation, "_sample_exemplar"),
)
# The same for a data point.
MERGING: Final = (
    *(
        unreplaced(_ExponentialBucketHistogramAggregation, place.rpartition(".")[2])
        for place in COLLECTING
        if place.startswith(_AGGREGATION) and not place.endswith("__")
    ),
    unreplaced(_ExponentialBucketHistogramAggregation, "_collect_exemplars"),
    *(unreplaced(Buckets, name) for name in ("copy_empty", "get_offset_counts", "increment_bucket", "offset")),
    *(unreplaced(Buckets, name) for name in ("counts", "index_base", "index_end", "index_start")),
)
