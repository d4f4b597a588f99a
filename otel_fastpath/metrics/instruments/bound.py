"""Metric instruments with attributes that are bound in advance. Plain Python; compiled as `bound_c`.

Made by `bind.bind`, which describes their use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.metrics._internal.instrument import (
    _ProxyCounter,
    _ProxyGauge,
    _ProxyHistogram,
    _ProxyUpDownCounter,
)

from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.util import types

    from otel_fastpath.metrics.instruments import series as kinds

_PROXIES = frozenset({_ProxyCounter, _ProxyUpDownCounter, _ProxyHistogram, _ProxyGauge})
# Finds the `Series` of an instrument and its attributes; set while the instruments are patched.
_find: list[Callable[[object, types.Attributes], kinds.Series | None] | None] = [None]


def use(find: Callable[[object, types.Attributes], kinds.Series | None] | None) -> None:
    """Set the function that finds the series of a bound instrument; None if the instruments are not patched."""
    _find[0] = find


class Bound:
    """An instrument, its attributes, and its series once that is known."""

    __slots__ = ("_attributes", "_instrument", "_series")

    def __init__(self, instrument: Any, attributes: types.Attributes) -> None:
        self._instrument = instrument
        self._attributes = attributes
        self._series: kinds.Series | None = None


class BoundCounter(Bound):
    """A Counter or UpDownCounter with its attributes."""

    __slots__ = ()

    def add(self, amount: float, context: Context | None = None) -> None:
        """As `Counter.add` and `UpDownCounter.add`, with the attributes bound."""
        if not _record(self, amount, context):
            _record_as_stock(self, self._instrument.add, amount, context)


class BoundHistogram(Bound):
    """A Histogram with its attributes."""

    __slots__ = ()

    def record(self, amount: float, context: Context | None = None) -> None:
        """As `Histogram.record`, with the attributes bound."""
        if not _record(self, amount, context):
            _record_as_stock(self, self._instrument.record, amount, context)


class BoundGauge(Bound):
    """A Gauge with its attributes."""

    __slots__ = ()

    def set(self, amount: float, context: Context | None = None) -> None:
        """As `Gauge.set`, with the attributes bound."""
        if not _record(self, amount, context):
            _record_as_stock(self, self._instrument.set, amount, context)


def _record(bound: Bound, amount: float, context: Context | None) -> bool:
    """Record the amount; returns False if the series is not known."""
    try:
        series = _series_of(bound)
        return series is not None and series.record(amount, context)
    except Exception as error:
        faults.absorb("metrics", error)
        return False


def _record_as_stock(bound: Bound, original: Any, amount: float, context: Context | None) -> None:
    """Record the amount with the instrument's own method, which other code may have wrapped to add attributes."""
    attributes = bound._attributes
    original(amount, {**attributes} if type(attributes) is dict else attributes, context)
    try:
        _look_again(bound)
    except Exception as error:
        # The instrument has recorded it.
        faults.absorb_any("metrics", error)


def _look_again(bound: Bound) -> None:
    """Find the series for the next amount, after the instrument itself recorded this one."""
    find = _find[0]
    series = None
    if find is not None:
        # A proxy delegates to the real instrument once a provider is set.
        instrument = bound._instrument
        if type(instrument) in _PROXIES:
            instrument = instrument._real_instrument
        series = find(instrument, bound._attributes)
    _use_series(bound, series)


@critical_section
def _series_of(bound: Bound) -> kinds.Series | None:
    return bound._series


@critical_section
def _use_series(bound: Bound, series: kinds.Series | None) -> None:
    bound._series = series
