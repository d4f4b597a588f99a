"""Bound instruments: a metric instrument with fixed attributes. Bind once, record many times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from otel_fastpath.compiled import hot
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, UpDownCounter, _Gauge

    from otel_fastpath.metrics.instruments.bound import BoundCounter, BoundGauge, BoundHistogram

    BoundInstrument: TypeAlias = BoundCounter | BoundHistogram | BoundGauge

# The instrument's method -> the class in the module `bound`.
_CLASSES = {"add": "BoundCounter", "record": "BoundHistogram", "set": "BoundGauge"}


@overload
def bind(instrument: Counter | UpDownCounter, attributes: Mapping[str, Any] | None = None) -> BoundCounter: ...
@overload
def bind(instrument: Histogram, attributes: Mapping[str, Any] | None = None) -> BoundHistogram: ...
@overload
def bind(instrument: _Gauge, attributes: Mapping[str, Any] | None = None) -> BoundGauge: ...
def bind(instrument: Any, attributes: Mapping[str, Any] | None = None) -> BoundInstrument:
    """Bind an instrument to attributes, for a call site that always records the same ones.

    A bound instrument may be created before a MeterProvider is set, shared between threads and kept for the life of the
    program. Each call does what a call of the instrument's own method would do at that time.

    Args:
        instrument: A synchronous instrument of any meter.
        attributes: As for the instrument's own method. They are copied, including lists and dicts among the values, so
            later changes have no effect. Stock validates them, and logs its warnings, at each recorded call.

    Returns:
        An object with the instrument's method `add`, `record` or `set`, which takes `(amount, context=None)`.

    Raises:
        TypeError: The instrument has none of these methods, because it is observable.
    """
    try:
        # If it is not a mapping, the instrument's own method reports that, at each call.
        kept = dict(attributes) if isinstance(attributes, Mapping) else attributes
        made: BoundInstrument = _bound(hot.metrics_instruments_bound, instrument, kept)
    except TypeError:
        raise
    except Exception as error:
        faults.absorb("bind", error)
        made = _plainly(instrument, attributes)
    return made


def _plainly(instrument: Any, attributes: Any) -> Any:
    """Bind with the pure core, without copying the attributes, after a fault."""
    from otel_fastpath.metrics.instruments import bound as pure  # noqa: PLC0415  # only after a fault

    if hasattr(instrument, "add"):
        return pure.BoundCounter(instrument, attributes)
    if hasattr(instrument, "record"):
        return pure.BoundHistogram(instrument, attributes)
    if hasattr(instrument, "set"):
        return pure.BoundGauge(instrument, attributes)
    raise TypeError(f"{type(instrument).__name__} is not a synchronous instrument")


def _bound(module: Any, instrument: Any, attributes: Any) -> Any:
    for verb, kind in _CLASSES.items():
        if callable(getattr(instrument, verb, None)):
            return getattr(module, kind)(instrument, _copied(attributes) if type(attributes) is dict else attributes)
    raise TypeError(f"{type(instrument).__name__} is not a synchronous instrument")


def _copied(value: Any) -> Any:
    """A copy of the value with every list and dict in it copied; values of other types are shared."""
    if type(value) is list or type(value) is tuple:
        return tuple(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(each) for key, each in value.items()}
    return value
