"""A metric instrument together with attributes that are known up front: bind once, record many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, UpDownCounter, _Gauge


class _Bound:
    __slots__ = ("_attributes", "_instrument")

    def __init__(self, instrument: Any, attributes: Mapping[str, Any] | None) -> None:
        self._instrument = instrument
        self._attributes = None if attributes is None else _copied(attributes)


class BoundCounter(_Bound):
    """A Counter or UpDownCounter with its attributes."""

    __slots__ = ()

    def add(self, amount: float, context: Context | None = None) -> None:
        """As `Counter.add` and `UpDownCounter.add`, with the attributes bound."""
        self._instrument.add(amount, self._attributes, context)


class BoundHistogram(_Bound):
    """A Histogram with its attributes."""

    __slots__ = ()

    def record(self, amount: float, context: Context | None = None) -> None:
        """As `Histogram.record`, with the attributes bound."""
        self._instrument.record(amount, self._attributes, context)


class BoundGauge(_Bound):
    """A Gauge with its attributes."""

    __slots__ = ()

    def set(self, amount: float, context: Context | None = None) -> None:
        """As `Gauge.set`, with the attributes bound."""
        self._instrument.set(amount, self._attributes, context)


BoundInstrument: TypeAlias = BoundCounter | BoundHistogram | BoundGauge
_CLASSES: dict[str, type[BoundInstrument]] = {"add": BoundCounter, "record": BoundHistogram, "set": BoundGauge}


@overload
def bind(instrument: Counter | UpDownCounter, attributes: Mapping[str, Any] | None = None) -> BoundCounter: ...
@overload
def bind(instrument: Histogram, attributes: Mapping[str, Any] | None = None) -> BoundHistogram: ...
@overload
def bind(instrument: _Gauge, attributes: Mapping[str, Any] | None = None) -> BoundGauge: ...
def bind(instrument: Any, attributes: Mapping[str, Any] | None = None) -> BoundInstrument:
    """The instrument with these attributes, for a call site that records the same ones each time.

    It may be made before a MeterProvider is set, shared by threads and kept for as long as the program runs; each call
    does what the instrument's own would do then.

    Args:
        instrument: A synchronous instrument of any meter.
        attributes: As for the instrument's own method. They are copied now, lists and dicts among the values too: what
            the caller changes later is not seen. Upstream's checks of them, and their warnings, come with each call
            that is recorded.

    Returns:
        An object with the instrument's own verb, `add`, `record` or `set`, which takes `(amount, context=None)`.

    Raises:
        TypeError: The instrument has none of the three verbs: an observable one.
    """
    for verb, kind in _CLASSES.items():
        if callable(getattr(instrument, verb, None)):
            return kind(instrument, attributes)
    raise TypeError(f"{type(instrument).__name__} is not a synchronous instrument")


def _copied(value: Any) -> Any:
    """The value with every list and dict in it copied; what else there is, is taken as it is."""
    if type(value) is list or type(value) is tuple:
        return tuple(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(each) for key, each in value.items()}
    return value
