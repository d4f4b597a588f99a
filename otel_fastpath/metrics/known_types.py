"""Which of stock's aggregations, filters and reservoirs this package knows.

The patches of metrics do not rest on them: if the source of one changes, only that one is left to stock's code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.patching.sources.guard import SkipError, check_sources
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODULE: Final = "opentelemetry.sdk.metrics._internal"
# What finds the aggregations of a measurement. If one of them is not known, all measurements are given to the consumer.
FINDING: Final = (
    f"{_MODULE}._view_instrument_match:_ViewInstrumentMatch.consume_measurement",
    f"{_MODULE}._view_instrument_match:_ViewInstrumentMatch.collect",
    f"{_MODULE}.aggregation:_Aggregation._sample_exemplar",
    f"{_MODULE}.measurement_consumer:SynchronousMeasurementConsumer.consume_measurement",
    f"{_MODULE}.metric_reader_storage:MetricReaderStorage._get_or_init_view_instrument_match",
    f"{_MODULE}.metric_reader_storage:MetricReaderStorage.consume_measurement",
)
# The name of 0.2.0, from where this module stood: it is what users select by.
_logger = Quiet("otel_fastpath.metrics.parts")


def unknown(rests_on: Mapping[type, tuple[str, ...]], purpose: str) -> frozenset[type]:
    """The types with a source that has no known fingerprint; each is logged.

    Args:
        rests_on: The type -> "module:qualified.name" of the sources that the replacement of its methods rests on.
        purpose: "Recording" or "Collection", for the log.
    """
    reasons = {kind: _reason(places) for kind, places in rests_on.items()}
    for kind, reason in reasons.items():
        if reason:
            _logger.warning("%s: %s is left to OpenTelemetry's own code: %s.", purpose, kind.__name__, reason)
    return frozenset(kind for kind, reason in reasons.items() if reason)


def _reason(places: tuple[str, ...]) -> str:
    """Why a source is not known; "" if all are."""
    try:
        check_sources(sources(*places), frozenset())
    except SkipError as skip:
        return str(skip)
    return ""
