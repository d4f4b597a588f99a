"""The counts as OpenTelemetry metrics: observable counters that read the counts at collection."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import Observation

from otel_fastpath import own_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otel_fastpath.exceptions.monitor import TypeCount

SCOPE: Final = own_metrics.EXCEPTIONS
RAISED_NAME: Final = "cpython.exceptions"
HANDLED_NAME: Final = "cpython.exceptions.handled"
UNCAUGHT_NAME: Final = "cpython.exceptions.uncaught"
UNIT: Final = "{exception}"
DESCRIPTIONS: Final = {
    RAISED_NAME: "The number of exceptions that were raised, whether handled or not.",
    HANDLED_NAME: "The number of exceptions that were caught and not raised again.",
    UNCAUGHT_NAME: "The number of exceptions that nothing caught, by where they came out.",
}

Attributes = tuple[tuple[str, Any], ...]


class _Instrument:
    """One observable counter, whose streams never decrease.

    A count can decrease: the handled exceptions while a `finally` clause runs, and all counts in a forked child, which
    starts at zero. The child continues from the values that its parent last reported, because the SDK state that it
    inherited compares with those.
    """

    def __init__(self, read: Callable[[], Iterable[tuple[Attributes, int]]]) -> None:
        self._read = read
        self._last: dict[Attributes, int] = {}
        self._base: dict[Attributes, int] = {}

    def observe(self, _options: Any) -> Iterator[Observation]:
        """The instrument's callback."""
        for attributes, count in self._read():
            value = max(self._base.get(attributes, 0) + count, self._last.get(attributes, 0))
            self._last[attributes] = value
            yield Observation(value, dict(attributes))

    def observe_globally(self, options: Any) -> Iterable[Observation]:
        """The callback for the global provider: reports nothing if nothing else would be exported."""
        return self.observe(options) if own_metrics.has_use(metrics.get_meter_provider()) else ()

    def after_fork(self) -> None:
        """Continue in a child process."""
        self._base = self._last.copy()


_instruments: dict[str, _Instrument] = {}
# The instruments that the global provider and other providers have. They cannot be removed, so each is created once.
_global: set[str] = set()
_others: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


def install(name: str, read: Callable[[], Iterable[tuple[Attributes, int]]], meter_provider: Any = None) -> None:
    """Create the instrument of this name, unless the provider (by default the global one) has it already."""
    is_given = meter_provider is not None
    if meter_provider is None or (meter_provider is metrics.get_meter_provider() and name in _global):
        # Until a provider is set, the global one is a proxy, which passes its instruments on to that provider.
        meter_provider, known = None, _global
    else:
        known = _others.setdefault(meter_provider, set())
    if name in known:
        return
    known.add(name)
    if name not in _instruments:
        _instruments[name] = _Instrument(read)
    meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
    instrument = _instruments[name]
    observe = instrument.observe if is_given else instrument.observe_globally
    meter.create_observable_counter(name, callbacks=[observe], unit=UNIT, description=DESCRIPTIONS[name])


def why_unused() -> str:
    """Why the counts are not reported; empty if they are, or if only a provider that was given gets them."""
    return own_metrics.why_unused(metrics.get_meter_provider()) if RAISED_NAME in _global else ""


def after_fork() -> None:
    """Continue all instruments in a child process."""
    for instrument in _instruments.values():
        instrument.after_fork()


def raised(counts: Iterable[TypeCount]) -> Iterator[tuple[Attributes, int]]:
    """The streams of `cpython.exceptions`: one per type, or one per raise site and one for the rest of the type."""
    for count in counts:
        of_type = ("error.type", count.type)
        for site in count.sites:
            yield (
                (
                    of_type,
                    ("code.function.name", site.function),
                    ("code.file.path", site.file),
                    ("code.line.number", site.line),
                ),
                site.raised,
            )
        rest = count.raised - sum(site.raised for site in count.sites)
        if rest > 0 or not count.sites:
            yield (of_type,), rest


def handled(counts: Iterable[TypeCount]) -> Iterator[tuple[Attributes, int]]:
    """The streams of `cpython.exceptions.handled`: one per type."""
    for count in counts:
        if count.handled is not None:
            yield (("error.type", count.type),), count.handled
