"""What recording works on: a recorder for each instrument, cells for each attribute set. Compiled as `series_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from opentelemetry.context import Context
    from opentelemetry.sdk.metrics._internal._view_instrument_match import _ViewInstrumentMatch
    from opentelemetry.sdk.metrics._internal.aggregation import _Aggregation
    from opentelemetry.sdk.metrics._internal.exemplar import ExemplarReservoir
    from opentelemetry.util import types


class Cell:
    """What one reader keeps for one attribute set in one view: upstream's aggregation, and how to add to it.

    Attributes:
        aggregation: Upstream's; `state` is its attributes.
        kind: One of `recording.KINDS`.
        lock: The aggregation's.
        boundaries: Those of a histogram.
        keeps_extremes: Whether the histogram has minimum and maximum.
        reservoir: Upstream's; `reservoir_state` is its attributes, `offers` one of `recording.OFFERS`.
        reservoir_lock: The reservoir's.
        buckets: The reservoir's buckets of ours, or None where there is none yet.
        attributes: What the aggregation's points have.
        is_filtered: Whether the view takes attributes away.
        match: Upstream's `_ViewInstrumentMatch`.
        home: Where a match that forgets its aggregations at each collection must still have this one: one of the
            recorder's `homes`. None for a match that forgets nothing.
        is_plain: Whether amounts are added without a look at `home`, and not by upstream's own method.
    """

    __slots__ = (
        "aggregation",
        "attributes",
        "boundaries",
        "buckets",
        "home",
        "is_filtered",
        "is_plain",
        "keeps_extremes",
        "kind",
        "lock",
        "match",
        "offers",
        "reservoir",
        "reservoir_lock",
        "reservoir_state",
        "state",
    )
    aggregation: _Aggregation[Any]
    attributes: types.Attributes
    boundaries: tuple[float, ...]
    buckets: list[Any]
    home: list[object] | None
    is_filtered: bool
    is_plain: bool
    keeps_extremes: bool
    kind: int
    lock: AbstractContextManager[object]
    match: _ViewInstrumentMatch
    offers: int
    reservoir: ExemplarReservoir
    reservoir_lock: AbstractContextManager[object]
    reservoir_state: dict[str, Any]
    state: dict[str, Any]


class Recorder:
    """What is worked out once about an instrument; kept on it, and made anew when its provider's readers change.

    Attributes:
        consumer: The attributes of upstream's consumer.
        kind: The class of the instrument.
        storages: What the consumer had for its readers.
        config: The attributes of what says whether the meter is enabled, which may change.
        is_signed: Whether amounts may be negative.
        samples: One of `recording.SAMPLES`.
        filters: The views' sets of attribute keys, which are the user's own, each with what it was.
        homes: For each view a list of one: what upstream's match had its aggregations in when `series` was learnt, or
            None where it has forgotten them since. Every cell of the view has this list, so that none keeps alive what
            upstream let go of.
        series: What was learnt: the cells of each attribute set, by its `attribute_key`.
        bytes: What the attribute sets in `series` take, roughly.
        learn: Makes the cells of attributes that upstream recorded.
        is_refused: Whether upstream must record everything.
    """

    __slots__ = (
        "bytes",
        "config",
        "consumer",
        "filters",
        "homes",
        "is_refused",
        "is_signed",
        "kind",
        "learn",
        "samples",
        "series",
        "storages",
    )
    bytes: int
    config: dict[str, Any] | None
    consumer: dict[str, object]
    filters: tuple[tuple[object, object], ...]
    homes: list[list[object]]
    is_refused: bool
    is_signed: bool
    kind: type
    learn: Callable[[types.Attributes], object]
    samples: int
    series: dict[tuple[object, ...], tuple[Cell, ...]]
    storages: object

    def forget(self) -> None:
        """Know no attribute set any more, and hold on to none of upstream's aggregations."""
        for home in self.homes:
            home[0] = None
        self.homes = []
        self.series.clear()
        self.bytes = 0


class Series:
    """A bound instrument's place: its recorder, its attributes, and its cells once they are known."""

    __slots__ = ("attributes", "cells", "recorder")
    attributes: types.Attributes
    cells: tuple[Cell, ...] | None
    recorder: Recorder

    def record(self, amount: float, context: Context | None) -> bool:
        """Record; whether it is done (see `recording.BoundSeries`)."""
        raise NotImplementedError
