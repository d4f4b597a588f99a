"""Measurements that stock's own `add`, `record` and `set` have made, where their source is not known. Compiled, too.

A known attribute set is recorded here, as by `recording`; any other is given to stock's consumer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_fastpath.compiled.helpers import attribute_key, copied
from otel_fastpath.metrics.instruments.exponential import LEFT
from otel_fastpath.metrics.instruments.recording import _TRACED, _add, _try_open, cells_of, is_plain, recorder_of
from otel_fastpath.metrics.instruments.reentry import hold_locks, inside, is_inside
from otel_fastpath.metrics.instruments.reentry import record as record_as_stock
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import span_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from opentelemetry.sdk.metrics._internal.instrument import _Instrument
    from opentelemetry.sdk.metrics._internal.measurement import Measurement
    from opentelemetry.sdk.metrics._internal.measurement_consumer import SynchronousMeasurementConsumer
    from opentelemetry.util import types

    from otel_fastpath.metrics.instruments import series as kinds


def bind_left(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for an instrument's method whose source is not known, which calls it."""

    def record(
        self: _Instrument, amount: float, attributes: types.Attributes = None, context: object = None, **more: object
    ) -> None:
        if inside and is_inside():
            record_as_stock(original, self, amount, attributes, context)
        else:
            original(self, amount, attributes, context, **more)

    return make_switchable(original, record, Switch())


def bind_consume(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `SynchronousMeasurementConsumer.consume_measurement`."""
    switch = Switch()

    def consume_measurement(self: SynchronousMeasurementConsumer, measurement: Measurement) -> None:
        try:
            if not switch.inert and _try_consume(self, measurement):
                return
        except Exception as error:
            faults.absorb("metrics", error)
        hold_locks(original, self, measurement)

    return make_switchable(original, consume_measurement, switch)


def _try_consume(consumer: SynchronousMeasurementConsumer, measurement: Measurement) -> bool:
    """Record the measurement; False if stock's method must do it."""
    if inside and is_inside():
        return False
    amount, attributes = measurement.value, measurement.attributes
    recorder = recorder_of(measurement.instrument)
    if recorder is None or recorder.consumer is not consumer.__dict__ or not _try_open(recorder, amount):
        return False
    cells = cells_of(recorder, attributes)
    if cells is None:
        cells = _learnt(recorder, attributes)
    if cells is None or cells is False or not _stay(cells):
        return False
    sampled = False
    if recorder.samples and not (recorder.samples == _TRACED and span_in(measurement.context) is None):
        sampled = consumer._sdk_config.exemplar_filter.should_sample(
            amount, measurement.time_unix_nano, attributes, measurement.context
        )
    # From here on, nothing may be left to stock: the amount would be recorded twice.
    for cell in cells:
        try:
            if sampled or not cell.is_plain or _add(cell, amount) == LEFT:
                hold_locks(cell.aggregation.aggregate, measurement, sampled)
        except Exception as error:  # noqa: PERF203  # the others are added to, too
            faults.raise_interruption(error)
            faults.report_any("metrics", error)
    return True


def _stay(cells: tuple[kinds.SeriesCell, ...]) -> bool:
    """Whether stock keeps all of these aggregations when it collects."""
    # Not a generator expression: in compiled code, each one that runs leaks a reference to its type.
    for cell in cells:  # noqa: SIM110  # see above
        if cell.home is not None:
            return False
    return True


def _learnt(
    recorder: kinds.Recorder, attributes: types.Attributes
) -> tuple[kinds.SeriesCell, ...] | Literal[False] | None:
    """The cells of attributes that are seen again; None if there are none yet, False if there never will be."""
    kept: dict[str, object] = copied(attributes) if attributes else {}  # type: ignore[arg-type]  # a dict
    if not is_plain(kept):
        return False
    key = attribute_key(kept)
    if recorder.sights is None or not recorder.sights.note(key):
        return None
    return recorder.learn(recorder, key, kept)
