"""The labels of points, as `_CustomCollector._collect_data_points` of stock's exporter has them."""

from __future__ import annotations

from functools import wraps
from json import dumps
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter import prometheus as _exporter
from opentelemetry.exporter.prometheus._mapping import sanitize_attribute
from opentelemetry.sdk.metrics.export import HistogramDataPoint

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.pausing import Pace
from otel_fastpath.patching.stock import unreplaced

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Collected = tuple[list[str], list[list[str]], list[Any]]

# After so many points, other threads may run.
_STRETCH: Final = 16
_collector: Final = _exporter._CustomCollector
# What stock calls for each label.
_labelling: Final = Facts(
    [
        unreplaced(_collector, "_check_value"),
        (_exporter, "sanitize_attribute", sanitize_attribute),
        (_exporter, "dumps", dumps),
        (_exporter, "HistogramDataPoint", HistogramDataPoint),
    ]
)


class _LabelNames(dict[str, str]):
    """The keys of attributes, each as the label that stock makes of it."""

    def __missing__(self, key: str) -> str:
        label = self[key] = sanitize_attribute(key)
        return label


def bind(original: Callable[..., _Collected]) -> Callable[..., _Collected]:
    """Make the replacement of stock's method."""

    @wraps(original)
    def collect(self: Any, metric_data: Any, *shared: Mapping[str, Any], **kwargs: Any) -> _Collected:
        try:
            if type(self) is _collector and "_check_value" not in vars(self) and not kwargs and _labelling.hold():
                return _collect(self._check_value, metric_data.data_points, shared)
        except Exception as error:
            faults.absorb("the labels of Prometheus", error)
        return original(self, metric_data, *shared, **kwargs)

    return collect


def _collect(check: Callable[[Any], str], points: list[Any], shared: tuple[Mapping[str, Any], ...]) -> _Collected:
    labels = _LabelNames()
    common: dict[str, str] = {}
    if not points:
        return [], [], []
    # The resource's come first, since 0.66.
    for each in reversed(shared):
        _add(common, labels, each, check)
    keys: set[str] = set()
    found: list[dict[str, str]] = []
    values: list[Any] = []
    turn, left = Pace().turn, _STRETCH
    for point in points:
        own = common.copy()
        _add(own, labels, point.attributes, check)
        keys.update(own)
        found.append(own)
        if isinstance(point, HistogramDataPoint):
            values.append(
                {
                    "bucket_counts": point.bucket_counts,
                    "explicit_bounds": point.explicit_bounds,
                    "sum": point.sum,
                }
            )
        else:
            values.append(point.value)
        left -= 1
        if not left:
            left = _STRETCH
            turn()
    ordered = sorted(keys)
    rows: list[list[str]] = []
    for own in found:
        is_whole = len(own) == len(ordered)
        rows.append([*map(own.__getitem__, ordered)] if is_whole else [own.get(key, "") for key in ordered])
        left -= 1
        if not left:
            left = _STRETCH
            turn()
    return ordered, rows, values


def _add(own: dict[str, str], labels: _LabelNames, attributes: Mapping[str, Any], check: Callable[[Any], str]) -> None:
    for key, value in attributes.items():
        kind = type(value)
        # What JSON makes of an integer; stock's method has the text of anything else.
        own[labels[key]] = value if kind is str else str(value) if kind is int else check(value)
