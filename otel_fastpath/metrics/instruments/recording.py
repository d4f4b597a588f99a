"""Recording a measurement. Plain Python; compiled as `recording_c` with the types of its `.pxd`.

A known attribute set is found by its keys, values and value types, and the amount is added directly to the aggregations
that stock made for it, under their own locks. A set that is seen for the first time is given to stock's consumer,
without the cleaning that it does not need; `planner` learns it at its second sight. Uncommon values are left to stock.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import (
    add_to_histogram,
    add_to_sum,
    address,
    attribute_key,
    bisect_left,
    copied,
    current_value,
    get_item,
    item,
)
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.metrics.instruments.exemplars import COPIES, _span_context, keep, new_measurement
from otel_fastpath.metrics.instruments.exponential import EXPONENTIAL, LEFT, add_to_buckets
from otel_fastpath.metrics.instruments.reentry import hold_locks, inside, is_inside
from otel_fastpath.metrics.instruments.reentry import record as record_as_stock
from otel_fastpath.metrics.instruments.series import Series
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import READING_SPAN, _variable, span_in
from otel_fastpath.trace.spans.identity import REPLACED, Identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from opentelemetry.context import Context
    from opentelemetry.sdk.metrics._internal.instrument import _Instrument
    from opentelemetry.sdk.metrics._internal.measurement import Measurement
    from opentelemetry.util import types

    from otel_fastpath.metrics.instruments import series as kinds

# What a `Cell` does with an amount. `_OTHER`: call stock's own method, with a measurement that needs no cleaning.
_SUM = 1
_LAST = 2
_HISTOGRAM = 3
_OTHER = 4
KINDS = {"sum": _SUM, "last": _LAST, "histogram": _HISTOGRAM, "other": _OTHER, "exponential": EXPONENTIAL}
# Which measurements may become exemplars.
_NONE = 0
_TRACED = 1
_ALL = 2
SAMPLES = {"none": _NONE, "traced": _TRACED, "all": _ALL}

# The types of attribute values that stock keeps as they are.
_PLAIN = frozenset({str, int, float, bool})
# Amounts from here on are left to stock, which may warn about them.
_MOST = 1 << 63
LEAST = -_MOST

# The function that `configure` was given.
_make_recorder: list[Callable[[_Instrument], kinds.Recorder | None]] = []


def facts_of(facts: list[tuple[object, str, object]]) -> Facts:
    """These facts, and that nobody has replaced what reads the current span."""
    return Facts([*facts, *READING_SPAN])


def configure(make_recorder: Callable[[_Instrument], kinds.Recorder | None]) -> None:
    """Set the function that makes an instrument's `Recorder`; it is not part of the hot path."""
    _make_recorder[:] = [make_recorder]


def cells_of(
    recorder: kinds.Recorder, attributes: types.Attributes
) -> tuple[kinds.SeriesCell, ...] | Literal[False] | None:
    """The cells for amounts with these attributes; None if they are not known yet, False if they never will be.

    They are found by what stock distinguishes: the keys, the values and the types of the values. The dict itself may
    be changed later.
    """
    if attributes is not None and type(attributes) is not dict:
        return False
    try:
        return get_item(recorder.series, attribute_key(attributes) if attributes else ())
    except Exception as error:
        faults.raise_interruption(error)
        # A list among the values, for example.
        return False


def recorder_of(instrument: _Instrument) -> kinds.Recorder | None:
    """The instrument's recorder, made again if the readers have changed; None if there is none."""
    recorder: kinds.Recorder | None
    try:
        recorder = instrument._otel_fastpath_recorder  # type: ignore[attr-defined]  # stored by the planner
    except AttributeError:
        recorder = None
    # An object that delegates to an instrument finds that instrument's recorder.
    if (
        recorder is not None
        and recorder.owner == address(instrument)
        and recorder.consumer["_reader_storages"] is recorder.storages
    ):
        return recorder
    return _make_recorder[0](instrument)


def _try_open(recorder: kinds.Recorder, amount: float) -> bool:
    """Whether the recorder accepts amounts now, and accepts this amount."""
    if recorder.is_refused or not recorder.facts.hold():
        return False
    config = recorder.config
    if config is not None and not config["_config"].is_enabled:
        return False
    kind = type(amount)
    if kind is not int and kind is not float:
        if not isinstance(amount, Real):
            # To the sum of such amounts, a `Decimal` for example, stock cannot add each other one: it raises.
            recorder.is_refused = True
        return False
    # Excludes infinity, NaN, and ints that are too large for a double.
    if not recorder.least <= amount < _MOST:
        return False
    return recorder.filters is None or _is_as_planned(recorder.filters)


def _is_as_planned(filters: tuple[tuple[object, object], ...]) -> bool:
    """Whether the views' sets of attribute keys, which user code may change, are the same as before."""
    # Not a generator expression: in compiled code, each one that runs leaks a reference to its type.
    for keys, as_planned in filters:  # noqa: SIM110  # all() needs one
        if keys != as_planned:
            return False
    return True


def bind_record(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for an instrument's `add`, `record` or `set`."""
    switch = Switch()

    def record(
        self: _Instrument, amount: float, attributes: types.Attributes = None, context: Context | None = None
    ) -> None:
        new = None
        try:
            if not switch.inert:
                new = _record(self, amount, attributes, context)
                if new is None:
                    return
        except Exception as error:
            faults.absorb("metrics", error)
        if new:
            hold_locks(self._measurement_consumer.consume_measurement, new)  # type: ignore[attr-defined]  # a synchronous one
        else:
            record_as_stock(original, self, amount, attributes, context)

    return make_switchable(original, record, switch)


def _record(
    instrument: _Instrument, amount: float, attributes: types.Attributes, context: Context | None
) -> Measurement | Literal[False] | None:
    """Record the amount and return None, or what stock's consumer must record, or False for stock's method."""
    if inside and is_inside():
        return False
    recorder = recorder_of(instrument)
    if recorder is None or not _try_open(recorder, amount):
        return False
    cells = cells_of(recorder, attributes)
    if cells is False:
        return False
    if cells is None:
        return _record_new(recorder, instrument, amount, attributes, context)
    _record_to(recorder, cells, amount, attributes, context)
    return None


def _record_new(
    recorder: kinds.Recorder,
    instrument: _Instrument,
    amount: float,
    attributes: types.Attributes,
    context: Context | None,
) -> Measurement | Literal[False] | None:
    """The same for attributes that are not known: they are learnt if this is not their first sight."""
    kept: dict[str, object] = copied(attributes) if attributes else {}  # type: ignore[arg-type]  # a dict
    if not is_plain(kept):
        return False
    key = attribute_key(kept)
    if recorder.sights is not None and recorder.sights.note(key):
        cells = recorder.learn(recorder, key, kept)
        if cells is not None:
            _record_to(recorder, cells, amount, attributes, context)
            return None
    given = attributes if attributes is None or not COPIES else kept
    return new_measurement(instrument, amount, given, context)  # type: ignore[arg-type]  # plain


def is_plain(attributes: dict[str, object]) -> bool:
    """Whether stock keeps these attributes as they are, without changes or warnings."""
    # Not generator expressions: in compiled code, each one that runs leaks a reference to its type.
    for key in attributes:
        if type(key) is not str or not key:
            return False
    for value in attributes.values():  # noqa: SIM110  # see above
        if type(value) not in _PLAIN:
            return False
    return True


class BoundSeries(Series):
    """The series of a bound instrument."""

    __slots__ = ()

    def record(self, amount: float, context: Context | None) -> bool:
        """Record the amount; return whether that was possible."""
        if inside and is_inside():
            return False
        recorder = self.recorder
        if recorder.consumer["_reader_storages"] is not recorder.storages or not _try_open(recorder, amount):
            return False
        cells = _cells(self)
        if cells is None:
            found = cells_of(recorder, self.attributes)
            if found is None or found is False:
                return False
            cells = found
            _use_cells(self, cells)
        if _record_to(recorder, cells, amount, self.attributes, context):
            _use_cells(self, None)
        return True


@critical_section
def _cells(series: Series) -> tuple[kinds.SeriesCell, ...] | None:
    return series.cells


@critical_section
def _use_cells(series: Series, cells: tuple[kinds.SeriesCell, ...] | None) -> None:
    series.cells = cells


def _record_to(
    recorder: kinds.Recorder,
    cells: tuple[kinds.SeriesCell, ...],
    amount: float,
    attributes: types.Attributes,
    context: Context | None,
) -> bool:
    """Add the amount to every cell; return whether stock no longer uses one of them.

    From here on, nothing may be left to stock: the amount would be recorded twice.
    """
    span_id = trace_id = None
    sampled = stale = False
    if recorder.samples:
        # `facts` have held.
        held = span_in(context) if context else current_value(_variable, _SPAN_KEY)
        if held is not None:
            span = None
            if isinstance(held, Identity):
                span = held  # of the type that the compiled core reads without a look-up
                if span.trace_flags >= REPLACED:
                    span = None
            if span is not None:
                sampled = (span.trace_flags & 1) != 0
                if sampled or recorder.samples == _ALL:
                    own = Identity.span_context(span)
                    span_id = item(own, 1)
                    trace_id = item(own, 0)
            else:
                found = _span_context(held, context or None)
                if found is not None:
                    span_id, trace_id, sampled = found
        if recorder.samples == _ALL:
            sampled = True
    for cell in cells:
        try:
            if not cell.is_plain:
                if not _add_apart(cell, amount, attributes, context, span_id, trace_id, sampled):  # type: ignore[arg-type]  # items 0 and 1 are ids
                    stale = True
                continue
            index = _add(cell, amount)
            if index == LEFT:
                _pass_on(cell, amount, attributes, context, sampled)
            elif sampled:
                keep(cell, amount, attributes, context, index, span_id, trace_id)  # type: ignore[arg-type]  # likewise
        except Exception as error:
            faults.raise_interruption(error)
            # An exemplar reservoir can be the application's.
            faults.report_any("metrics", error)
    if stale:
        try:
            recorder.forget()
        except Exception as error:
            faults.absorb_any("metrics", error)
    return stale


def _add(cell: kinds.SeriesCell, amount: float) -> int:
    """Add the amount to the aggregation as its own method does; return its bucket, or -1 if stock dropped it.

    `LEFT`: it is left to that method, and nothing was added.

    Nothing is called and no object is made while the lock is held, so that no signal handler or finalizer, which may
    need the lock itself, runs in between.
    """
    state = cell.state
    kind = cell.kind
    index = 0
    # To an int of zero, Cython's own addition adds -0.0 as it is.
    added = amount or abs(amount)
    if kind == _SUM:
        if cell.is_locked is not None and add_to_sum(cell.is_locked, state, amount):
            return 0
    elif kind == EXPONENTIAL:
        return add_to_buckets(cell, amount)
    elif kind == _HISTOGRAM:
        index = bisect_left(cell.boundaries, amount)
        extremes = cell.keeps_extremes
        if cell.is_locked is not None and add_to_histogram(cell.is_locked, state, amount, index, extremes, None):
            return index
        made = None
        if state["_value"] is None:
            # The first since a collection.
            made = [0] * (len(cell.boundaries) + 1)
            if cell.is_locked is not None and add_to_histogram(cell.is_locked, state, amount, index, extremes, made):
                return index
    with cell.lock:
        value = state["_value"]
        if cell.home is not None and cell.match._attributes_aggregation is not cell.home[0]:
            index = -1
        elif kind == _SUM:
            state["_value"] = (0 if value is None else value) + added
        elif kind == _LAST:
            state["_value"] = amount
        elif value is None and made is None:
            # Collected in the meantime.
            index = -2
        else:
            if value is None:
                value = state["_value"] = made
            state["_sum"] += added
            if cell.keeps_extremes:
                # min() and max() would be calls.
                if amount < state["_min"]:  # noqa: PLR1730  # see above
                    state["_min"] = amount
                if amount > state["_max"]:  # noqa: PLR1730  # see above
                    state["_max"] = amount
            counts = value
            counts[index] += 1
    return _add(cell, amount) if index < -1 else index


def _add_apart(
    cell: kinds.SeriesCell,
    amount: float,
    attributes: types.Attributes,
    context: Context | None,
    span_id: int | None,
    trace_id: int | None,
    sampled: bool,
) -> bool:
    """Add to a cell that is not plain; False if stock no longer uses it, and then recorded the amount itself."""
    match = cell.match
    if cell.home is None:
        _pass_on(cell, amount, attributes, context, sampled)
        return True
    is_home = match._attributes_aggregation is cell.home[0]
    if is_home and cell.kind != _OTHER:
        # Stock drops the aggregation before it takes its lock to collect it: what was added by then is not lost.
        index = _add(cell, amount)
        if index >= 0:
            if sampled:
                keep(cell, amount, attributes, context, index, span_id, trace_id)
            return True
        is_home = index == LEFT
    hold_locks(match.consume_measurement, new_measurement(match._instrument, amount, attributes, context), sampled)
    return is_home


def _pass_on(
    cell: kinds.SeriesCell, amount: float, attributes: types.Attributes, context: Context | None, sampled: bool
) -> None:
    """Have stock's own method add the amount."""
    hold_locks(cell.aggregation.aggregate, new_measurement(None, amount, attributes, context), sampled)
