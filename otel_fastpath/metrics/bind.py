"""A metric instrument together with attributes that are known up front: bind once, record many times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from otel_fastpath.compiled import hot
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, UpDownCounter, _Gauge

    from otel_fastpath.metrics.bound import BoundCounter, BoundGauge, BoundHistogram

    BoundInstrument: TypeAlias = BoundCounter | BoundHistogram | BoundGauge

# An instrument's verb -> its class in the core's module.
_CLASSES = {"add": "BoundCounter", "record": "BoundHistogram", "set": "BoundGauge"}


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
    try:
        # What is no mapping is wrong: the instrument's own method says so, at each call.
        kept = dict(attributes) if isinstance(attributes, Mapping) else attributes
        made: BoundInstrument = _bound(hot("metrics.bound"), instrument, kept)
    except TypeError:
        raise
    except Exception as error:
        faults.absorb("bind", error)
        made = _plainly(instrument, attributes)
    return made


def _plainly(instrument: Any, attributes: Any) -> Any:
    """The same from the pure core, where the short way failed; the attributes are not copied."""
    from otel_fastpath.metrics import bound as pure  # noqa: PLC0415  # only where the other way failed

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
    """The value with every list and dict in it copied; what else there is, is taken as it is."""
    if type(value) is list or type(value) is tuple:
        return tuple(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(each) for key, each in value.items()}
    return value
