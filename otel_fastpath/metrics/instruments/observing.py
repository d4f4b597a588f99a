"""Observable instruments at a collection: their callbacks, and what these return. Compiled as `observing_c`.

An observation with known attributes is added to stock's aggregation as a measurement is; see `recording`. Of any other,
and of one that may become an exemplar, stock's own measurement is made.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics._internal import instrument as _sdk_instruments
from opentelemetry.sdk.metrics._internal.measurement_consumer import SynchronousMeasurementConsumer
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.compiled.helpers import current_value
from otel_fastpath.metrics.instruments.consuming import _learnt
from otel_fastpath.metrics.instruments.exponential import LEFT
from otel_fastpath.metrics.instruments.recording import _TRACED, _add, _pass_on, _try_open, cells_of
from otel_fastpath.metrics.instruments.reentry import hold_locks, inside, is_inside
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import _variable, span_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions
    from opentelemetry.util import types

    from otel_fastpath.metrics.instruments import series as kinds

_instrument_globals = vars(_sdk_instruments)
# Releases before 1.45 keep values that are not finite.
_CHECKS = "isfinite" in _sdk_instruments._Asynchronous.callback.__code__.co_names
_END: Any = object()
_WARNING = "Callback returned a non-finite value %s for instrument %s, ignoring measurement."


def bind_collect(original: Callable[..., Any], instead: Callable[..., Any]) -> Callable[..., Any]:
    """Make the replacement for `SynchronousMeasurementConsumer.collect`; `instead` is called where that is possible."""
    switch = Switch()

    def collect(self: SynchronousMeasurementConsumer, metric_reader: object, timeout_millis: float = 10_000) -> Any:
        is_usual = type(self) is SynchronousMeasurementConsumer and not (inside and is_inside())
        if switch.inert or not is_usual:
            return original(self, metric_reader, timeout_millis)
        return instead(self, metric_reader, timeout_millis)

    return make_switchable(original, collect, switch)


def observe(
    instrument: Any, options: CallbackOptions, recorder: kinds.Recorder | None, storage: Any, sampling: Any
) -> None:
    """Call the callbacks of an instrument, and record what they observe for one reader.

    Args:
        instrument: The instrument; it has stock's own methods.
        options: For the callbacks.
        recorder: Knows the instrument's series of this reader; None: stock records.
        storage: Stock's storage of the reader.
        sampling: The exemplar filter.

    Raises:
        Exception: That of stock's own code which records a measurement. Those of callbacks are logged, as stock does.
    """
    for callback in instrument._callbacks:
        observations = None
        while True:
            cells: Any = None
            measurement = None
            try:
                if observations is None:
                    observations = iter(callback(options))
                given = next(observations, _END)
                if given is _END:
                    break
                is_plain = type(given) is Observation
                # What is no observation may give another value each time that it is asked.
                amount: Any = given.value if _CHECKS or is_plain else None
                if _CHECKS and not math.isfinite(amount):
                    _instrument_globals["_logger"].warning(_WARNING, given.value, instrument.name)
                    continue
                if recorder is not None and is_plain:
                    cells = _known(recorder, amount, given._attributes, given._context)
                if cells is None:
                    measurement = _measurement(instrument, given)
            except Exception:
                _instrument_globals["_logger"].exception("Callback failed for instrument %s.", instrument.name)
                break
            if cells is None:
                _record(storage, sampling, measurement)
            else:
                _record_known(cells, amount, given._attributes, given._context)


def _measurement(instrument: Any, given: Any) -> Any:
    return _instrument_globals["Measurement"](
        given.value,
        time_unix_nano=_instrument_globals["time_ns"](),
        instrument=instrument,
        context=given.context or get_current(),
        attributes=given.attributes,
    )


def _record(storage: Any, sampling: Any, measurement: Any) -> None:
    sampled = sampling.should_sample(
        measurement.value, measurement.time_unix_nano, measurement.attributes, measurement.context
    )
    hold_locks(storage.consume_measurement, measurement, sampled)


def _known(
    recorder: kinds.Recorder, amount: float, attributes: types.Attributes, context: Context | None
) -> tuple[kinds.SeriesCell, ...] | None:
    """Where the observation is added; None if stock must record it."""
    cells: Any = None
    try:
        if not _try_open(recorder, amount):
            return None
        if recorder.samples:
            held = span_in(context) if context else current_value(_variable, _SPAN_KEY)
            if recorder.samples != _TRACED or held is not None:
                return None
        cells = cells_of(recorder, attributes)
        if cells is None:
            cells = _learnt(recorder, attributes)
    except Exception as error:
        faults.absorb("metrics", error)
        return None
    return None if cells is False else cells


def _record_known(
    cells: tuple[kinds.SeriesCell, ...], amount: float, attributes: types.Attributes, context: Context | None
) -> None:
    for cell in cells:
        if not cell.is_plain or _add(cell, amount) == LEFT:
            _pass_on(cell, amount, attributes, context, False)  # noqa: FBT003  # as stock's own argument
