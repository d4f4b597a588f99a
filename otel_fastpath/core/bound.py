"""A metric instrument together with attributes that are known up front: bind once, record many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

from otel_fastpath.core import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, UpDownCounter, _Gauge


# What records for attributes that are bound, and what finds out where: given while the instruments are patched.
_record: Callable[[Any, Any, Any], bool] | None = None
_find: Callable[[Any, Any], Any] | None = None


def use(record: Callable[[Any, Any, Any], bool] | None, find: Callable[[Any, Any], Any] | None) -> None:
    """Set what makes bound instruments fast, or None for either where nothing does."""
    global _record, _find
    _record, _find = record, find


class _Bound:
    __slots__ = ("_attributes", "_instrument", "_record", "_series")

    def __init__(self, instrument: Any, attributes: Mapping[str, Any] | None) -> None:
        self._instrument = instrument
        self._attributes = None if attributes is None else _copied(dict(attributes))
        self._series: Any = None
        self._record: Any = None

    def _leave(self, record: Callable[..., None], amount: Any, context: Any) -> None:
        """Let the instrument record, and see whether the next amount can do without it."""
        self._series = None
        record(amount, self._attributes, context)
        if _find is None:
            return
        try:
            # A proxy stands for the instrument that there is once a provider is set.
            self._record = _record
            self._series = _find(getattr(self._instrument, "_real_instrument", self._instrument), self._attributes)
        except Exception as error:
            faults.report("metrics", error)


class BoundCounter(_Bound):
    """A Counter or UpDownCounter with its attributes."""

    __slots__ = ()

    def add(self, amount: float, context: Context | None = None) -> None:
        """As `Counter.add` and `UpDownCounter.add`, with the attributes bound."""
        try:
            if self._series is not None and self._record(self._series, amount, context):
                return
        except Exception as error:
            faults.absorb("metrics", error)
        self._leave(self._instrument.add, amount, context)


class BoundHistogram(_Bound):
    """A Histogram with its attributes."""

    __slots__ = ()

    def record(self, amount: float, context: Context | None = None) -> None:
        """As `Histogram.record`, with the attributes bound."""
        try:
            if self._series is not None and self._record(self._series, amount, context):
                return
        except Exception as error:
            faults.absorb("metrics", error)
        self._leave(self._instrument.record, amount, context)


class BoundGauge(_Bound):
    """A Gauge with its attributes."""

    __slots__ = ()

    def set(self, amount: float, context: Context | None = None) -> None:
        """As `Gauge.set`, with the attributes bound."""
        try:
            if self._series is not None and self._record(self._series, amount, context):
                return
        except Exception as error:
            faults.absorb("metrics", error)
        self._leave(self._instrument.set, amount, context)


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
