"""The counts as OpenTelemetry metrics: observable counters that read the table when somebody collects."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from otel_fastpath.exceptions.monitor import TypeCount

SCOPE: Final = "otel_fastpath.exceptions"
RAISED_NAME: Final = "cpython.exceptions"
HANDLED_NAME: Final = "cpython.exceptions.handled"
UNCAUGHT_NAME: Final = "cpython.exceptions.uncaught"
UNIT: Final = "{exception}"
_DESCRIPTIONS: Final = {
    RAISED_NAME: "The number of exceptions that were raised, whether handled or not.",
    HANDLED_NAME: "The number of exceptions that were caught and not raised again.",
    UNCAUGHT_NAME: "The number of exceptions that nothing caught, by where they came out.",
}

Attributes = tuple[tuple[str, Any], ...]


class _Instrument:
    """One observable counter, whose streams never go back.

    A count can: the handled ones while a `finally` runs, and all of them in a forked child, which begins at zero. The
    child goes on from what its parent last reported, because that is what the meter it inherited compares with.
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
        """The callback of the global provider's instrument: it has nothing where ours would be all that is exported."""
        return self.observe(options) if _has_use(metrics.get_meter_provider()) else ()

    def forked(self) -> None:
        """Go on in a child process."""
        self._base = self._last.copy()


def _has_use(provider: Any) -> bool:
    """Whether the global provider has a use for what ours measure.

    Not where nothing else was measured, which makes a provider export that would not, perhaps to where no metrics are
    wanted; nor where all is read in memory, as tests do, which count what they find. A provider that was given to
    `install` is not asked.
    """
    try:
        readers = dict(provider._measurement_consumer._reader_storages)
        if readers and all(type(reader).__name__ == "InMemoryMetricReader" for reader in readers):
            return False
        return any(
            instrument.instrumentation_scope.name != SCOPE
            for storage in readers.values()
            for instrument in tuple(storage._instrument_view_instrument_matches)
        )
    except AttributeError:
        # It is not the SDK's.
        return True


_instruments: dict[str, _Instrument] = {}
# The instruments that the global provider has, and other ones: the API cannot take one back, so none gets it twice.
_global: set[str] = set()
_others: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


def install(name: str, read: Callable[[], Iterable[tuple[Attributes, int]]], meter_provider: Any = None) -> None:
    """Make the instrument of this name, unless the provider has it.

    Args:
        name: One of the names above.
        read: Gives the streams; nothing while there is nothing to report.
        meter_provider: In the place of the global one, which may also be set later; ours report there in any case.
    """
    is_given = meter_provider is not None
    if meter_provider is None or (meter_provider is metrics.get_meter_provider() and name in _global):
        # Until a provider is set this is a proxy, which hands its instruments over to the one that will be.
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
    meter.create_observable_counter(name, callbacks=[observe], unit=UNIT, description=_DESCRIPTIONS[name])


def forked() -> None:
    """Let every instrument go on in a child process."""
    for instrument in _instruments.values():
        instrument.forked()


def raised(counts: Iterable[TypeCount]) -> Iterator[tuple[Attributes, int]]:
    """The streams of `cpython.exceptions`: one per type, or per raise site and one for what no site accounts for."""
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
