"""How much was altered or left out of exports: counted by field, logged once for each, and reported as a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import Observation

from otel_fastpath import own_metrics
from otel_fastpath.locks import Tally
from otel_fastpath.patching import faults
from otel_fastpath.patching.quiet import Quiet

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME: Final = "otel_fastpath.export.altered"
UNIT: Final = "{item}"
DESCRIPTION: Final = (
    "The number of values that were altered, and of items that were left out, because they cannot be encoded."
)
FIELD: Final = "otel_fastpath.export.field"
OUTCOME: Final = "otel_fastpath.export.outcome"
ALTERED: Final = "altered"
LEFT_OUT: Final = "left_out"

_VERBS: Final = {ALTERED: "altered", LEFT_OUT: "left out"}
# The most of an error's text that is logged: it may contain the value.
_LONGEST: Final = 200
_logger = Quiet(__name__)
# By outcome and field, separated by a space.
_counts: Final = Tally()
_providers = own_metrics.MeterProviders()
_is_reported = False


class AlteredValue(NamedTuple):
    """A value that cannot be encoded.

    Attributes:
        field: Where it is, such as `span.name`, or `span` itself.
        outcome: ALTERED or LEFT_OUT.
        error: What the encoder raised.
    """

    field: str
    outcome: str
    error: Exception


def counts() -> dict[str, int]:
    """The numbers so far, such as {"altered span.name": 2}."""
    return dict(_counts)


def add(found: Iterable[AlteredValue]) -> None:
    """Count what was found, and log the first one of each kind. Never raises."""
    for field, outcome, error in found:
        if not _counts.add(f"{outcome} {field}"):
            continue
        text = type(error).__name__
        try:
            text = f"{text}: {str(error)[:_LONGEST]!a}"
        except Exception as fault:  # of other code's `__str__`
            faults.raise_interruption(fault)
        _logger.warning(
            "%s cannot be encoded and is %s (%s). Further ones are only counted.", field, _VERBS[outcome], text
        )


def add_logged(field: str, number: int) -> None:
    """Count values of a field that stock left out and logged."""
    for _ in range(number):
        _counts.add(f"{LEFT_OUT} {field}")


def report(meter_provider: Any = None) -> None:
    """Report the counts from now on, by default to the global meter provider, which may also be set later."""
    global _is_reported
    _is_reported = True
    if not _providers.add(meter_provider):
        return
    meter = metrics.get_meter(own_metrics.PATCHES, meter_provider=meter_provider)
    observe = _observe_globally if meter_provider is None else _observe
    meter.create_observable_counter(NAME, callbacks=[observe], unit=UNIT, description=DESCRIPTION)


def stop() -> None:
    """Report nothing from now on."""
    global _is_reported
    _is_reported = False


def _observe(_options: Any) -> Iterable[Observation]:
    if not _is_reported:
        return []
    split = [(*key.partition(" "), count) for key, count in counts().items()]
    return [Observation(count, {FIELD: field, OUTCOME: outcome}) for outcome, _, field, count in split]


def _observe_globally(options: Any) -> Iterable[Observation]:
    return _observe(options) if own_metrics.has_use(metrics.get_meter_provider()) else ()
