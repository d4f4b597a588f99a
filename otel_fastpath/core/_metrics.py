"""Recording a measurement. Plain Python; compiled as `_metrics_c` with the types of its `.pxd`.

An attribute set that was seen before is found by its keys, values and types of values, and added straight to the
aggregations that upstream made for it, under their own locks. What was not seen, and whatever is not plain (values
that are no primitives, numbers that upstream warns about), is left to upstream; `core.metrics` learns from it.
"""

from __future__ import annotations

from bisect import bisect_left
from random import getrandbits
from typing import TYPE_CHECKING, Any

from opentelemetry.context import get_current
from opentelemetry.sdk.metrics._internal import instrument as _sdk_instruments
from opentelemetry.sdk.metrics._internal.measurement import Measurement
from opentelemetry.trace import NonRecordingSpan
from opentelemetry.trace.propagation import get_current_span
from opentelemetry.trace.span import INVALID_SPAN, SpanContext

from otel_fastpath.core import faults

if TYPE_CHECKING:
    from otel_fastpath.core._capi import *

# In the compiled twin COMPILED is a constant 1 of `_capi.pxd`, which also defines the c_ functions.
globals().setdefault("COMPILED", False)
if not COMPILED:
    from otel_fastpath.core._series import *
    from otel_fastpath.core._span import *
    from otel_fastpath.core._start import *

_instrument_globals = vars(_sdk_instruments)
_now = _instrument_globals["time_ns"]
_new = object.__new__

# What a `Cell` does with an amount. The last: calls upstream's own method, with a measurement that needs no cleaning.
_SUM = 1
_LAST = 2
_HISTOGRAM = 3
_OTHER = 4
KINDS = {"sum": _SUM, "last": _LAST, "histogram": _HISTOGRAM, "other": _OTHER}
# Where its exemplars go: to the reservoir's own method, or to one of its buckets.
_OFFER = 0
_SIMPLE = 1
_ALIGNED = 2
OFFERS = {"offer": _OFFER, "simple": _SIMPLE, "aligned": _ALIGNED}
# Which measurements may become exemplars.
_NONE = 0
_TRACED = 1
_ALL = 2
SAMPLES = {"none": _NONE, "traced": _TRACED, "all": _ALL}

# Beyond these, an int has no place in a double; and upstream says what it thinks of those beyond the first.
_MOST = 1 << 63
_EXACT = 1 << 53

_make_recorder: Any = None
# `record` gives this where nothing is left to do, False where upstream must record, and else the recorder that can
# learn from upstream's doing so.
DONE = None


def configure(make_recorder: Any) -> None:
    """Give the module what is not hot: how an instrument's `Recorder` is made."""
    global _make_recorder
    _make_recorder = make_recorder


def key_of(attributes: Any) -> Any:
    """What attributes that upstream keeps apart differ in; None where only upstream can tell.

    A dict is no key: it may be changed later. Types are told apart because True, 1 and 1.0 are equal.
    """
    if not attributes:
        return () if attributes is None or type(attributes) is dict else None
    if type(attributes) is not dict:
        return None
    if COMPILED:
        return c_attribute_key(attributes)
    values = attributes.values()
    return (*attributes, *values, *map(type, values))


def recorder_of(instrument: Any) -> Any:
    """The instrument's recorder, made anew where the readers are no longer the same; None where there is none."""
    try:
        recorder = instrument._otel_fastpath_recorder
    except AttributeError:
        return _make_recorder(instrument)
    return recorder if recorder.consumer["_reader_storages"] is recorder.storages else _make_recorder(instrument)


def _is_open(recorder: Any, amount: Any) -> bool:
    """Whether the recorder takes amounts now, and this one."""
    if recorder.is_refused or (recorder.config is not None and not recorder.config["_config"].is_enabled):
        return False
    if COMPILED:
        if not c_is_amount(amount, recorder.is_signed):
            return False
    elif type(amount) is float or type(amount) is int:
        # No infinity, nothing that is not a number, and no int that is too large for a double.
        if not (-_MOST if recorder.is_signed else 0) <= amount < _MOST:
            return False
    else:
        return False
    if recorder.filters:
        for keys, as_planned in recorder.filters:
            if keys != as_planned:
                return False
    return True


def record(instrument: Any, amount: Any, attributes: Any, context: Any) -> Any:
    """Record as the instrument would: `DONE`, or what is left to do (see there)."""
    recorder = recorder_of(instrument)
    if recorder is None or not _is_open(recorder, amount):
        return False
    if COMPILED:
        key = key_of(attributes)
        if key is None:
            return False
        cells = recorder.series.get(key)
    else:
        if type(attributes) is dict:
            values = attributes.values()
            key = (*attributes, *values, *map(type, values))
        elif attributes is None:
            key = ()
        else:
            return False
        try:
            cells = recorder.series.get(key)
        except TypeError:
            # A list among the values.
            return False
    if cells is None:
        return recorder
    _record(recorder, cells, amount, attributes, context or None)
    return DONE


def record_bound(series: Any, amount: Any, context: Any) -> bool:
    """The same for attributes that are bound; whether it is done."""
    own = series
    recorder = own.recorder
    if recorder.consumer["_reader_storages"] is not recorder.storages or not _is_open(recorder, amount):
        return False
    cells = own.cells
    if cells is None:
        cells = own.cells = recorder.series.get(own.key)
        if cells is None:
            return False
    if _record(recorder, cells, amount, own.attributes, context or None):
        own.cells = None
    return True


def _record(recorder: Any, cells: Any, amount: Any, attributes: Any, context: Any) -> bool:
    """Add the amount to every cell; whether one of them is no longer what upstream uses.

    From here on nothing may be left to upstream: it would record twice.
    """
    own = None
    sampled = stale = False
    if recorder.samples:
        span = _outer_span(context)
        if span is not None:
            own = _span_context(span, context)
            sampled = own is not None and bool(own[3] & 1 if type(own) is SpanContext else own.trace_flags.sampled)
        if recorder.samples == _ALL:
            sampled = True
    for cell in cells:
        try:
            if cell.home is not None:
                if not _add_at_home(cell, amount, attributes, context, own, sampled):
                    stale = True
                continue
            if cell.kind == _OTHER:
                _pass_on(cell, amount, attributes, context, sampled)
                continue
            if COMPILED:
                # No other thread runs in here. Who holds the lock at this moment is in the middle of something.
                if cell.is_locked():
                    cell.acquire()
                    try:
                        _add(cell, amount)
                    finally:
                        cell.release()
                else:
                    _add(cell, amount)
            elif cell.kind == _SUM:
                state = cell.state
                with cell.lock:
                    value = state["_value"]
                    state["_value"] = (0 if value is None else value) + amount
            else:
                with cell.lock:
                    _add(cell, amount)
            if sampled:
                _offer(cell, amount, attributes, context, own)
        except Exception as error:
            faults.report("metrics", error)
    if stale:
        recorder.series.clear()
    return stale


def _add(cell: Any, amount: Any) -> None:
    """Add the amount to the aggregation as its own method does, under its lock."""
    state = cell.state
    value = state["_value"]
    if cell.kind == _SUM:
        state["_value"] = (0 if value is None else value) + amount
    elif cell.kind == _LAST:
        state["_value"] = amount
    else:
        if value is None:
            # What is collected as garbage now may come by here as well.
            made = [0] * (len(cell.boundaries) + 1)
            value = state["_value"]
            if value is None:
                value = state["_value"] = made
        counts = value
        state["_sum"] += amount
        if cell.keeps_extremes:
            # min() and max() would be calls.
            if amount < state["_min"]:  # noqa: PLR1730
                state["_min"] = amount
            if amount > state["_max"]:  # noqa: PLR1730
                state["_max"] = amount
        if COMPILED:
            counts[_index(cell, amount)] += 1
        else:
            counts[bisect_left(cell.boundaries, amount)] += 1


def _index(cell: Any, amount: Any) -> int:
    """The bucket of the amount."""
    if COMPILED and cell.bounds and (type(amount) is float or amount < _EXACT):
        return c_bisect(cell.bounds, amount)
    return bisect_left(cell.boundaries, amount)


def _pass_on(cell: Any, amount: Any, attributes: Any, context: Any, sampled: bool) -> None:
    """Have upstream's own method add the amount."""
    cell.aggregation.aggregate(_measurement(None, amount, attributes, context), sampled)


def _add_at_home(cell: Any, amount: Any, attributes: Any, context: Any, own: Any, sampled: bool) -> bool:
    """Add to a cell that may have been forgotten since; it cannot be while the match is locked."""
    match = cell.match
    with match._lock:
        if match._attributes_aggregation is cell.home:
            if cell.kind == _OTHER:
                _pass_on(cell, amount, attributes, context, sampled)
                return True
            with cell.lock:
                _add(cell, amount)
            if sampled:
                _offer(cell, amount, attributes, context, own)
            return True
    match.consume_measurement(_measurement(match._instrument, amount, attributes, context), sampled)
    return False


def _span_context(held: Any, context: Any) -> Any:
    """The `SpanContext` of what the context has as its span, or None where that is none."""
    span = held
    if isinstance(held, SpanState):
        return span._context
    if type(span) is NonRecordingSpan:
        return None if span is INVALID_SPAN else span._context
    span = get_current_span(context)
    return None if span == INVALID_SPAN else span.get_span_context()


def _time() -> Any:
    clock = _instrument_globals["time_ns"]
    return c_now() if COMPILED and clock is _now else clock()


def _measurement(instrument: Any, amount: Any, attributes: Any, context: Any) -> Any:
    """A measurement of attributes that are clean."""
    made = _new(Measurement)
    vars(made).update(
        value=amount,
        time_unix_nano=_time(),
        instrument=instrument,
        context=context or get_current(),
        attributes=None if attributes is None else dict(attributes),
    )
    return made


def _offer(cell: Any, amount: Any, attributes: Any, context: Any, own: Any) -> None:
    """Offer the amount to the reservoir of its aggregation as its own method does, and with the same randomness."""
    if cell.offers == _OFFER:
        kept = None if attributes is None else dict(attributes)
        cell.reservoir.offer(amount, _time(), kept, context or get_current())
        return
    # What the point has is taken off again: without a filter that is everything.
    kept = dict(attributes or {}) if cell.is_filtered else cell.state["_attributes"]
    time = _time()
    if COMPILED and not cell.is_reservoir_locked():
        _put(cell, amount, time, kept, own)
    else:
        with cell.reservoir_lock:
            _put(cell, amount, time, kept, own)


def _put(cell: Any, amount: Any, time: Any, attributes: Any, own: Any) -> None:
    """Put an exemplar into a bucket, under the reservoir's lock."""
    buckets = cell.buckets
    if cell.offers == _ALIGNED:
        index = _index(cell, amount)
    else:
        seen = cell.reservoir_state["_measurements_seen"]
        cell.reservoir_state["_measurements_seen"] = seen + 1
        index = seen if seen < len(buckets) else _random_below(seen + 1)
        if index >= len(buckets):
            return
    bucket = buckets[index]
    if bucket is None:
        bucket = buckets[index] = vars(cell.reservoir_state["_reservoir_storage"][index])
    bucket["_ExemplarBucket__value"] = amount
    bucket["_ExemplarBucket__time_unix_nano"] = time
    bucket["_ExemplarBucket__attributes"] = attributes
    if own is not None:
        bucket["_ExemplarBucket__span_id"] = own[1] if type(own) is SpanContext else own.span_id
        bucket["_ExemplarBucket__trace_id"] = own[0] if type(own) is SpanContext else own.trace_id
    bucket["_ExemplarBucket__offered"] = True


def _random_below(number: Any) -> Any:
    """As `random.randrange(number)`."""
    bits = number.bit_length()
    index = getrandbits(bits)
    while index >= number:
        index = getrandbits(bits)
    return index
