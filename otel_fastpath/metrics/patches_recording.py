"""Recording measurements: the synchronous instruments of `opentelemetry.sdk.metrics`.

Stock: 87,000 instructions for a counter with three attributes, 142,000 for a histogram with eight (CPython 3.13, SDK
1.45.1): attributes are copied, cleaned and turned into a key each time. Here a set of attributes that was recorded
before is found without that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.metrics.known_types import FINDING
from otel_fastpath.metrics.set_up import forget_recorders, set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK, sources

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.sdk.metrics._internal"
# The planner checks the aggregations, filters and reservoirs: one that is not known is left to stock.
_RESTS_ON: Final = (
    f"{_MODULE}.measurement:Measurement",
    # Of exemplars.
    "opentelemetry.trace.span:SpanContext.span_id",
    "opentelemetry.trace.span:SpanContext.trace_id",
)


def _forget_recorders() -> None:
    hot.metrics_instruments_bound.use(None)
    forget_recorders()


def _make(original: Any, settings: Config) -> Any:
    ready = set_up(settings)
    hot.metrics_instruments_bound.use(ready.planner.series_of)
    return ready.recording.bind_record(original)


def _patch(kind: str, verb: str, budget: str, why: str) -> Patch:
    return Patch(
        name=f"metrics.{kind.lower()}",
        target=f"{_MODULE}.instrument:{kind}.{verb}",
        why=why,
        make=_make,
        requires=SDK,
        sources=sources(f"{_MODULE}.instrument:{kind}.{verb}", *_RESTS_ON),
        parts=sources(*FINDING),
        undo=_forget_recorders,
        budgets=(budget,),
    )


PATCHES: Final = (
    _patch(
        "Counter",
        "add",
        "counter.add, 3 attributes",
        "Adding with three attributes takes 87,000 instructions; here a look-up and an addition.",
    ),
    _patch("UpDownCounter", "add", "up_down_counter.add, 3 attributes", "The same as for counters."),
    _patch(
        "Histogram",
        "record",
        "histogram.record, 3 attributes",
        "Recording with three attributes takes 90,000 instructions, with eight 142,000.",
    ),
    _patch("Gauge", "set", "gauge.set, 3 attributes", "The same as for counters."),
)
