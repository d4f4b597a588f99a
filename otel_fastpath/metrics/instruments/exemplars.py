"""Exemplars: measurements that stock's reservoirs keep. Plain Python; compiled as `exemplars_c`.

An offered measurement is kept as it is, in a bucket that replaces stock's, and becomes an `Exemplar` when it is
collected.
"""

from __future__ import annotations

from random import getrandbits
from typing import TYPE_CHECKING

from opentelemetry.context import get_current
from opentelemetry.sdk.metrics._internal import instrument as _sdk_instruments
from opentelemetry.sdk.metrics._internal.exemplar.exemplar import Exemplar
from opentelemetry.sdk.metrics._internal.measurement import Measurement
from opentelemetry.trace import NonRecordingSpan
from opentelemetry.trace.propagation import get_current_span
from opentelemetry.trace.span import INVALID_SPAN, SpanContext

from otel_fastpath.compiled.helpers import new_instance, read_clock
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.metrics.instruments.exponential import EXPONENTIAL
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.context import Context
    from opentelemetry.sdk.metrics._internal.exemplar.exemplar_reservoir import FixedSizeExemplarReservoirABC
    from opentelemetry.sdk.metrics._internal.instrument import _Instrument
    from opentelemetry.util import types

    from otel_fastpath.metrics.instruments import series as kinds

    _Held = tuple[float, int, types.Attributes, int | None, int | None]


_instrument_globals = vars(_sdk_instruments)

# Where the exemplars of a `Cell` go: to the reservoir's own method, or to one of its buckets.
_OFFER = 0
_SIMPLE = 1
_ALIGNED = 2
# Until 1.44, a measurement has the very attributes that the caller gave, who may change them later.
COPIES = hasattr(Measurement, "__post_init__")
OFFERS = {"offer": _OFFER, "simple": _SIMPLE, "aligned": _ALIGNED}
# The attributes of stock's bucket, in the order of `Bucket.held`.
_FIELDS = tuple(f"_ExemplarBucket__{each}" for each in ("value", "time_unix_nano", "attributes", "span_id", "trace_id"))
_VALUE, _TIME, _ATTRIBUTES, _SPAN, _TRACE = _FIELDS
_OFFERED = "_ExemplarBucket__offered"


class Bucket:
    """Replaces an `ExemplarBucket` in the storage of its reservoir, and has the same methods.

    Attributes:
        held: Amount, time, attributes, span id and trace id of the last offered measurement, or None. A single tuple,
            so that measurements can be offered and collected at the same time without a lock.
    """

    __slots__ = ("held",)

    def __init__(self, held: _Held | None = None) -> None:
        self.held = held

    def offer(self, value: float, time_unix_nano: int, attributes: types.Attributes, context: Context) -> None:
        """As `ExemplarBucket.offer`; called for measurements that stock itself records."""
        try:
            span = get_current_span(context)
            if span != INVALID_SPAN:
                own = span.get_span_context()
                span_id, trace_id = own.span_id, own.trace_id
            else:
                span_id, trace_id = _last_ids(self)  # type: ignore[assignment]  # None before the first
            _hold(self, (value, time_unix_nano, attributes, span_id, trace_id))
        except Exception as error:
            faults.absorb("exemplars", error)

    def collect(self, point_attributes: Mapping[str, object]) -> Exemplar | None:
        """As `ExemplarBucket.collect`: return the last offered measurement as an `Exemplar`, or None."""
        held = _take(self)
        if held is None:
            return None
        try:
            value, time_unix_nano, attributes, span_id, trace_id = held
            filtered = None
            if attributes:
                filtered = {key: each for key, each in attributes.items() if key not in point_attributes}
            return Exemplar(filtered, value, time_unix_nano, span_id, trace_id)
        except Exception as error:
            # The measurement itself is collected without its exemplar.
            faults.absorb_any("exemplars", error)
            return None


@critical_section
def _held(bucket: Bucket) -> _Held | None:
    return bucket.held


@critical_section
def _hold(bucket: Bucket, held: _Held) -> None:
    bucket.held = held


@critical_section
def _take(bucket: Bucket) -> _Held | None:
    held, bucket.held = bucket.held, None
    return held


def _last_ids(bucket: Bucket) -> tuple[int | None, int | None]:
    """The ids of the previous span, which stock's bucket keeps if there is no span now."""
    held = _held(bucket)
    return (None, None) if held is None else (held[3], held[4])


def _span_context(held: object, context: Context | None) -> tuple[int, int, bool] | None:
    """Span id, trace id and sampled flag of a span that this core did not make; None if there is no span."""
    if type(held) is NonRecordingSpan:
        if held is INVALID_SPAN:
            return None
        own = held._context
    else:
        span = get_current_span(context)
        if span == INVALID_SPAN:
            return None
        own = span.get_span_context()
    if type(own) is SpanContext:
        return own[1], own[0], bool(own[3] & 1)
    return own.span_id, own.trace_id, bool(own.trace_flags.sampled)


def measured_at() -> int:
    """Nanoseconds since the epoch, from the clock that stock's module reads and that tests replace."""
    return read_clock(_instrument_globals)


def keep(
    cell: kinds.SeriesCell,
    amount: float,
    attributes: types.Attributes,
    context: Context | None,
    index: int,
    span_id: int | None,
    trace_id: int | None,
) -> None:
    """Offer an amount to the reservoir of its aggregation as its own method does, and with the same randomness.

    Args:
        cell: What the amount was added to.
        amount: The amount.
        attributes: The attributes as the caller gave them.
        context: The context as the caller gave it.
        index: The histogram's bucket that the amount is in.
        span_id: The span id of the context's span, or None.
        trace_id: The trace id of the context's span, or None.
    """
    if cell.kind == EXPONENTIAL and not amount:
        # Stock's aggregation offers no zeros.
        return
    if cell.offers == _OFFER:
        kept: types.Attributes = dict(attributes) if COPIES and attributes is not None else attributes
        cell.reservoir.offer(amount, measured_at(), kept, context or get_current())
        return
    place = index
    if cell.offers == _SIMPLE:
        place = _next_place(cell)
        if place < 0:
            return
    bucket = cell.buckets[place]
    if bucket is None:
        bucket = _take_over(cell, place)
    if trace_id is None:
        span_id, trace_id = _last_ids(bucket)
    if COPIES:
        # Collecting removes the attributes that the point has: without a filter, all of them.
        attributes = dict(attributes or {}) if cell.is_filtered else cell.attributes
    _hold(bucket, (amount, measured_at(), attributes, span_id, trace_id))


def _next_place(cell: kinds.SeriesCell) -> int:
    """The place of one more measurement in the reservoir, or -1 for none; nothing is called under its lock."""
    state = cell.reservoir_state
    with cell.reservoir_lock:
        seen = state["_measurements_seen"]
        state["_measurements_seen"] = seen + 1
    if seen < len(cell.buckets):
        return seen  # type: ignore[no-any-return]  # a count
    # As `random.randrange(seen + 1)`.
    bits = (seen + 1).bit_length()
    place = getrandbits(bits)
    while place > seen:
        place = getrandbits(bits)
    return place if place < len(cell.buckets) else -1


def _take_over(cell: kinds.SeriesCell, place: int) -> Bucket:
    """Replace stock's bucket at this place of the reservoir with ours; return ours."""
    storage = cell.reservoir_state["_reservoir_storage"]
    made = Bucket()
    while True:
        found = storage.get(place)
        if type(found) is Bucket:
            cell.buckets[place] = found
            return found
        content = None if found is None else vars(found)
        with cell.reservoir_lock:
            # Stock's bucket changes only under the lock. Nothing is called here.
            now = storage[place] if place in storage else None  # noqa: SIM401  # get() is a call
            if now is found:
                if content is not None and content[_OFFERED]:
                    made.held = (content[_VALUE], content[_TIME], content[_ATTRIBUTES], content[_SPAN], content[_TRACE])
                storage[place] = made


def give_back(reservoir: FixedSizeExemplarReservoirABC, make: Callable[[], object]) -> None:
    """Replace our buckets with stock's, made by `make`."""
    storage = reservoir._reservoir_storage
    for place, found in tuple(storage.items()):
        if type(found) is not Bucket:  # type: ignore[comparison-overlap]  # put there by `_take_over`
            continue
        made = make()
        held = found.held
        if held is not None:
            vars(made).update(zip((*_FIELDS, _OFFERED), (*held, True), strict=True))
        storage[place] = made


def new_measurement(
    instrument: _Instrument | None, amount: float, attributes: types.Attributes, context: Context | None
) -> Measurement:
    """A measurement with attributes that need no cleaning."""
    made = new_instance(Measurement)
    vars(made).update(
        value=amount,
        time_unix_nano=measured_at(),
        instrument=instrument,
        context=context or get_current(),
        attributes=dict(attributes) if COPIES and attributes is not None else attributes,
    )
    return made
