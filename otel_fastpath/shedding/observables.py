"""What the guard measures and sheds, as OpenTelemetry metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics

from otel_fastpath import own_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.metrics import Observation

CPU: Final = "otel_fastpath.telemetry.cpu"
SHED: Final = "otel_fastpath.shed"
LEVEL: Final = "otel_fastpath.guard.level"
PROBABILITY: Final = "otel_fastpath.guard.probability"
PART: Final = "otel_fastpath.telemetry.part"
KIND: Final = "otel_fastpath.shed.kind"
REASON: Final = "otel_fastpath.shed.reason"
MAX_CPU: Final = "max_cpu"

# Name -> the kind of the instrument, its unit and its description.
INSTRUMENTS: Final = {
    CPU: ("gauge", "1", "The share of the process's CPU time that this part of telemetry took lately."),
    LEVEL: ("gauge", "1", "What is shed: 0 nothing, 1 internal spans, 2 traces, 3 events and links, 4 log records."),
    PROBABILITY: ("gauge", "1", "The probability with which new traces are kept."),
    SHED: ("counter", "{item}", "The number of spans, traces and log records that were shed."),
}

# Returns the observations of the instrument of this name; None while the guard is off.
_observe: Callable[[str], Iterable[Observation]] | None = None
_providers = own_metrics.MeterProviders()


def report(observe: Callable[[str], Iterable[Observation]], meter_provider: Any = None) -> None:
    """Report the observations from now on, by default to the global meter provider, which may also be set later."""
    global _observe
    _observe = observe
    if not _providers.add(meter_provider):
        return
    meter = metrics.get_meter(own_metrics.GUARD, meter_provider=meter_provider)
    for name, (kind, unit, description) in INSTRUMENTS.items():
        create = meter.create_observable_gauge if kind == "gauge" else meter.create_observable_counter
        create(
            name, callbacks=[_callback(name, is_given=meter_provider is not None)], unit=unit, description=description
        )


def stop() -> None:
    """Report nothing from now on."""
    global _observe
    _observe = None


def _callback(name: str, *, is_given: bool) -> Callable[[Any], Iterable[Observation]]:
    def observe(_options: Any) -> Iterable[Observation]:
        if _observe is None or not (is_given or own_metrics.has_use(metrics.get_meter_provider())):
            return ()
        return _observe(name)

    return observe
