"""Recording measurements: the synchronous instruments of `opentelemetry.sdk.metrics`.

Stock: 87,000 instructions for a counter with three attributes, 142,000 for a histogram with eight (CPython 3.13, SDK
1.45.1): attributes are copied, cleaned and turned into a key each time. Here a set of attributes that was recorded
before is found without that.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.metrics.known_types import FINDING
from otel_fastpath.metrics.set_up import forget_recorders, set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.guard import ReplacedError, SkipError, check_sources
from otel_fastpath.patching.swapping.swap import Swap
from otel_fastpath.trace.set_up import forget_names
from otel_fastpath.trace.stock_sources import SCOPE_KEYS, SDK, sources, sources_if_any

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
# Since 1.41.
_ASKED: Final = (f"{_MODULE}:_ProxyMeterConfig.is_enabled", f"{_MODULE}.instrument:_Synchronous._is_enabled")
_METHODS: Final = {"Counter": "add", "UpDownCounter": "add", "Histogram": "record", "Gauge": "set"}


class _Consumer:
    """Our replacement for the method of stock's consumer, while stock's own instruments make measurements."""

    def __init__(self) -> None:
        self._swap: Swap | None = None
        self._replacement: Any = None

    def put(self) -> None:
        """Put it in place, unless it is.

        Raises:
            SkipError: What finds the aggregations of a measurement is not known.
        """
        from opentelemetry.sdk.metrics._internal.measurement_consumer import SynchronousMeasurementConsumer  # noqa: PLC0415  # only where it is being patched

        check_sources(sources(*FINDING), frozenset())
        if self._swap is not None:
            return
        swap = Swap(SynchronousMeasurementConsumer, "consume_measurement")
        # The same one each time: what is kept rests on it.
        self._replacement = self._replacement or hot.metrics_instruments_consuming.bind_consume(swap.original)
        swap.put(self._replacement)
        self._swap = swap

    def take_off(self) -> None:
        """Restore stock's method."""
        swap, self._swap = self._swap, None
        if swap is not None:
            swap.take_off()


_consumer: Final = _Consumer()


def _forget_recorders() -> None:
    _consumer.take_off()
    hot.metrics_instruments_bound.use(None)
    forget_recorders()


def _target(kind: str) -> str:
    return f"{_MODULE}.instrument:{kind}.{_METHODS[kind]}"


def _why_unknown(kind: str) -> SkipError | None:
    """Why stock's own method of these instruments makes their measurements, if it does."""
    try:
        check_sources(sources(_target(kind)), frozenset())
    except SkipError as skip:
        return skip
    return None


def _make(kind: str, original: Any, settings: Config) -> Any:
    from opentelemetry.sdk.metrics._internal import instrument as instruments  # noqa: PLC0415  # likewise

    ready = set_up(settings)
    reasons = {each: _why_unknown(each) for each in _METHODS}
    if isinstance(reason := reasons[kind], ReplacedError):
        raise reason
    # Before anything rests on the consumer: the planner looks at it.
    if reason is not None:
        _consumer.put()
    elif any(type(each) is SkipError for each in reasons.values()):
        with suppress(SkipError):
            _consumer.put()
    hot.metrics_instruments_bound.use(ready.planner.series_of)
    own = vars(instruments)[f"_{kind}"]
    if reason is None:
        ready.planner.left.discard(own)
        return ready.recording.bind_record(original)
    ready.planner.left.add(own)
    return hot.metrics_instruments_consuming.bind_left(original)


def _make_get_meter(original: Any, _settings: Config) -> Any:
    from opentelemetry.sdk.metrics._internal import Meter  # noqa: PLC0415  # only where it is being patched

    get = hot.trace_by_name.bind_get(original, Meter, "_meters", "_disabled", "_shutdown")

    @functools.wraps(original)
    def get_meter(
        self: Any, name: str, version: str | None = None, schema_url: str | None = None, attributes: Any = None
    ) -> Any:
        return get(self, name, version, schema_url, attributes)

    return get_meter


def _patch(kind: str, why: str, *budgets: str) -> Patch:
    return Patch(
        name=f"metrics.{kind.lower()}",
        target=_target(kind),
        why=why,
        make=functools.partial(_make, kind),
        requires=SDK,
        sources=sources(*_RESTS_ON) | sources_if_any(*_ASKED),
        parts=sources(_target(kind), *FINDING),
        undo=_forget_recorders,
        budgets=budgets,
    )


PATCHES: Final = (
    Patch(
        name="metrics.get_meter",
        target=f"{_MODULE}:MeterProvider.get_meter",
        why="Asking again for a meter takes 49,000 instructions; here one look-up.",
        make=_make_get_meter,
        requires=SDK,
        sources=sources(f"{_MODULE}:MeterProvider.get_meter", *SCOPE_KEYS),
        undo=forget_names,
        budgets=("meter asked for again",),
    ),
    _patch(
        "Counter",
        "Adding with three attributes takes 87,000 instructions; here a look-up and an addition.",
        "counter.add, 3 attributes",
    ),
    _patch("UpDownCounter", "The same as for counters.", "up_down_counter.add, 3 attributes"),
    _patch(
        "Histogram",
        "Recording with three attributes takes 90,000 instructions, with eight 142,000, in an exponential one 100,000.",
        "histogram.record, 3 attributes",
        "exponential histogram.record, 3 attributes",
    ),
    _patch("Gauge", "The same as for counters.", "gauge.set, 3 attributes"),
)
