"""The state of recording: a recorder for each instrument, cells for each attribute set. Compiled as `series_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching.plans import Plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from opentelemetry.context import Context
    from opentelemetry.sdk.metrics._internal._view_instrument_match import _ViewInstrumentMatch
    from opentelemetry.sdk.metrics._internal.aggregation import _Aggregation
    from opentelemetry.sdk.metrics._internal.exemplar import ExemplarReservoir
    from opentelemetry.util import types

    from otel_fastpath.compiled.facts import Facts
    from otel_fastpath.patching.sights import Sights


class BucketScale:
    """How amounts are mapped to the buckets of an exponential histogram.

    Attributes:
        mapping: The mapping of stock's that does so.
        number: Its scale.
        factor: What the logarithm of an amount is multiplied with.
    """

    __slots__ = ("factor", "mapping", "number")

    def __init__(self, mapping: object, number: int, factor: float) -> None:
        self.mapping = mapping
        self.number = number
        self.factor = factor


class SeriesCell:
    """What one reader keeps for one attribute set in one view: stock's aggregation, and how to add to it.

    Attributes:
        aggregation: Stock's aggregation; `state` is its `__dict__`.
        kind: One of `recording.KINDS`.
        lock: The aggregation's lock.
        is_locked: The lock's method `locked`; None: the lock is always taken.
        boundaries: The bucket boundaries of a histogram.
        keeps_extremes: Whether the histogram has minimum and maximum.
        scale: That of an exponential histogram when the last amount was added; None before.
        reservoir: Stock's reservoir; `reservoir_state` is its `__dict__`, `offers` one of `exemplars.OFFERS`.
        reservoir_lock: The reservoir's lock.
        buckets: Our buckets in the reservoir; an item is None until its bucket is made.
        attributes: The attributes of the aggregation's points.
        is_filtered: Whether the view removes attributes.
        match: Stock's `_ViewInstrumentMatch`.
        home: One of the recorder's `homes`: shows whether a match that drops its aggregations at each collection still
            has this one. None for a match that drops none.
        is_plain: Whether amounts are added without checking `home` and without calling stock's own method.
    """

    __slots__ = (
        "aggregation",
        "attributes",
        "boundaries",
        "buckets",
        "home",
        "is_filtered",
        "is_locked",
        "is_plain",
        "keeps_extremes",
        "kind",
        "lock",
        "match",
        "offers",
        "reservoir",
        "reservoir_lock",
        "reservoir_state",
        "scale",
        "state",
    )
    aggregation: _Aggregation[Any]
    attributes: types.Attributes
    boundaries: tuple[float, ...]
    buckets: list[Any]
    home: list[object] | None
    is_filtered: bool
    is_locked: Callable[[], bool] | None
    is_plain: bool
    keeps_extremes: bool
    kind: int
    lock: AbstractContextManager[object]
    match: _ViewInstrumentMatch
    offers: int
    reservoir: ExemplarReservoir
    reservoir_lock: AbstractContextManager[object]
    reservoir_state: dict[str, Any]
    scale: BucketScale | None
    state: dict[str, Any]


class Recorder(Plan):
    """What recording needs to know of an instrument; stored on it, and made again when its provider's readers change.

    Attributes:
        consumer: The `__dict__` of stock's measurement consumer.
        storages: The reader storages that the consumer had when this was made.
        config: The `__dict__` of the object that says whether the meter is enabled, which may change.
        facts: That nobody has replaced stock's functions that are not called for the known attribute sets.
        samples: One of `recording.SAMPLES`.
        filters: The views' sets of attribute keys, which user code may change, each with its content at that time;
            None: there are none.
        homes: For each view a list of one item: the dict in which stock's match had its aggregations when `series`
            was learnt, or None if the match has dropped it since. All cells of the view share the list, so that none
            keeps alive what stock has released.
        series: The cells of each known attribute set, by its `attribute_key`.
        bytes: The approximate size of the attribute sets in `series`.
        learn: Makes the cells for attributes that stock has recorded before.
        least: The least amount that is not left to stock.
        sights: Which attribute sets were seen once; None for an instrument whose views stock has not found yet.
        is_refused: Whether stock must record everything.
    """

    __slots__ = (
        "bytes",
        "config",
        "consumer",
        "facts",
        "filters",
        "homes",
        "is_refused",
        "learn",
        "least",
        "samples",
        "series",
        "sights",
        "storages",
    )
    bytes: int
    config: dict[str, Any] | None
    consumer: dict[str, object]
    facts: Facts
    filters: tuple[tuple[object, object], ...] | None
    homes: list[list[object]]
    is_refused: bool
    learn: Callable[[Recorder, tuple[object, ...], dict[str, object]], tuple[SeriesCell, ...] | None]
    least: int
    samples: int
    series: dict[tuple[object, ...], tuple[SeriesCell, ...]]
    sights: Sights | None
    storages: object

    @critical_section
    def forget(self) -> None:
        """Forget all attribute sets, and release stock's aggregations."""
        for home in self.homes:
            home[0] = None
        self.homes = []
        self.series.clear()
        self.bytes = 0


class ObservedSeries(Plan):
    """The recorders of observable instruments for one reader; stored on its storage.

    Attributes:
        recorders: The address of an instrument -> the recorder of its series.
    """

    __slots__ = ("recorders",)
    recorders: dict[int, Recorder]


class Series:
    """What a bound instrument records to: a recorder, attributes, and the cells once they are known."""

    __slots__ = ("attributes", "cells", "recorder")
    attributes: types.Attributes
    cells: tuple[SeriesCell, ...] | None
    recorder: Recorder

    def record(self, amount: float, context: Context | None) -> bool:
        """Record the amount; return whether that was possible (see `recording.BoundSeries`)."""
        raise NotImplementedError
