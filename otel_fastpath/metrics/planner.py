"""Makes the recorders of instruments, which remember where stock records each set of attributes.

Stock's objects are recognised exactly, by type and by their methods. Where one is not stock's, stock records.
"""

from __future__ import annotations

import functools
import logging
import sys
from _thread import LockType
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.metrics import _internal as _metrics
from opentelemetry.sdk.metrics._internal import _view_instrument_match as _matches
from opentelemetry.sdk.metrics._internal import aggregation as _aggregations
from opentelemetry.sdk.metrics._internal.exemplar import (
    AlignedHistogramBucketExemplarReservoir,
    AlwaysOffExemplarFilter,
    AlwaysOnExemplarFilter,
    SimpleFixedSizeExemplarReservoir,
    TraceBasedExemplarFilter,
)
from opentelemetry.sdk.metrics._internal.exemplar.exemplar_reservoir import ExemplarBucket
from opentelemetry.sdk.metrics._internal.instrument import _Counter, _Gauge, _Histogram, _UpDownCounter
from opentelemetry.sdk.metrics._internal.measurement_consumer import SynchronousMeasurementConsumer
from opentelemetry.sdk.metrics._internal.metric_reader_storage import MetricReaderStorage
from opentelemetry.sdk.metrics._internal.view import View

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.metrics.attribute_sets import stored_under
from otel_fastpath.metrics.instruments.recorders import RECORDER
from otel_fastpath.metrics.known_types import FINDING, unknown
from otel_fastpath.metrics.stock_buckets import ADDING
from otel_fastpath.metrics.stock_buckets import RECORDING as BUCKETS
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep, remembering
from otel_fastpath.patching.sights import Sights
from otel_fastpath.patching.sources.guard import are_known
from otel_fastpath.patching.stock import has_own, own_methods, unreplaced, watched
from otel_fastpath.trace.propagation.stock_propagators import READ_OF_CONTEXTS
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)

# The types of instruments, and whether their amounts may be negative.
_SIGNED: Final[dict[type, bool]] = {_Counter: False, _Histogram: False, _UpDownCounter: True, _Gauge: True}
_FILTERS: Final[dict[type, str]] = {
    AlwaysOffExemplarFilter: "none",
    TraceBasedExemplarFilter: "traced",
    AlwaysOnExemplarFilter: "all",
}
_KINDS: Final[dict[type, str]] = {
    _aggregations._SumAggregation: "sum",
    _aggregations._LastValueAggregation: "last",
    _aggregations._ExplicitBucketHistogramAggregation: "histogram",
    _aggregations._ExponentialBucketHistogramAggregation: "exponential",
}
# What records in stock, and is not called for known attributes: other code's replacement is.
_RECORDING: Final = (
    (SynchronousMeasurementConsumer, "consume_measurement"),
    (MetricReaderStorage, "consume_measurement"),
    (_matches._ViewInstrumentMatch, "consume_measurement"),
    (_matches, "_hash_attributes"),  # since 1.45
)
_AGGREGATING: Final[dict[Any, Any]] = {
    kind: ((kind, "aggregate", vars(kind)["aggregate"]), *(ADDING if name == "exponential" else ()))
    for kind, name in _KINDS.items()
}
_CONSUMING: Final = (SynchronousMeasurementConsumer, MetricReaderStorage)
_RESERVOIRS: Final[dict[type, str]] = {
    SimpleFixedSizeExemplarReservoir: "simple",
    AlignedHistogramBucketExemplarReservoir: "aligned",
}
_METHODS: Final[dict[type, tuple[str, ...]]] = {
    SynchronousMeasurementConsumer: ("consume_measurement",),
    MetricReaderStorage: ("consume_measurement", "_get_or_init_view_instrument_match"),
    _matches._ViewInstrumentMatch: ("consume_measurement",),
    **dict.fromkeys(_FILTERS, ("should_sample",)),
    **dict.fromkeys((*_KINDS, _aggregations._DropAggregation), ("aggregate", "_sample_exemplar")),
    _aggregations._ExplicitBucketHistogramAggregation: ("aggregate", "_sample_exemplar", "_get_empty_bucket_counts"),
    **dict.fromkeys(_RESERVOIRS, ("offer", "_find_bucket_index")),
    ExemplarBucket: ("offer", "collect"),
}
_MODULE: Final = "opentelemetry.sdk.metrics._internal"
# What the recording of each rests on, besides what all recording does.
RESTS_ON: Final[dict[type, tuple[str, ...]]] = {
    _aggregations._SumAggregation: (f"{_MODULE}.aggregation:_SumAggregation.aggregate",),
    _aggregations._LastValueAggregation: (f"{_MODULE}.aggregation:_LastValueAggregation.aggregate",),
    _aggregations._ExplicitBucketHistogramAggregation: (
        f"{_MODULE}.aggregation:_ExplicitBucketHistogramAggregation.__init__",
        f"{_MODULE}.aggregation:_ExplicitBucketHistogramAggregation.aggregate",
        f"{_MODULE}.aggregation:_ExplicitBucketHistogramAggregation._get_empty_bucket_counts",
    ),
    _aggregations._ExponentialBucketHistogramAggregation: BUCKETS,
    _aggregations._DropAggregation: (f"{_MODULE}.aggregation:_DropAggregation.aggregate",),
    **{kind: (f"{_MODULE}.exemplar.exemplar_filter:{kind.__name__}.should_sample",) for kind in _FILTERS},
    **{
        kind: (
            f"{_MODULE}.exemplar.exemplar_reservoir:{kind.__name__}",
            f"{_MODULE}.exemplar.exemplar_reservoir:ExemplarBucket",
            f"{_MODULE}.exemplar.exemplar_reservoir:FixedSizeExemplarReservoirABC.offer",
            f"{_MODULE}.exemplar.exemplar_reservoir:FixedSizeExemplarReservoirABC._reset",
        )
        for kind in _RESERVOIRS
    },
}
_OWN: Final = own_methods(_METHODS)
# What newer releases ask for each measurement.
_ASKED: Final = own_methods(
    {kind: ("_is_enabled",) for kind in _SIGNED if hasattr(kind, "_is_enabled")}
    | ({_metrics._ProxyMeterConfig: ("is_enabled",)} if hasattr(_metrics, "_ProxyMeterConfig") else {})
)
_bucket: Final = Facts(unreplaced(ExemplarBucket, name) for name in _METHODS[ExemplarBucket])
_BUCKET_FACTORY: Any = ExemplarBucket
# A recorder may keep `_LEAST` sets of attributes, and `_EACH` more for each set that stock keeps: several map to the
# same one if the order of their keys differs, and any number if a view removes an attribute.
_LEAST: Final = 1024
_EACH: Final = 4
# The maximum size in bytes of a set of attributes, on average and of any one.
_USUAL: Final = 1024
_LARGEST: Final = 4096


def _is_stock(value: Any, *kinds: type) -> bool:
    """Whether the object is exactly of one of these types, with stock's own methods."""
    return type(value) in kinds and has_own(value, _OWN)


class InstrumentPlanner:
    """Makes the recorders for one core, and removes them again.

    Args:
        recording: The module `recording` or its compiled twin.
        kinds: The module `series` or its compiled twin.
        exemplars: The module `exemplars` or its compiled twin.
        store: The class `plans.PlanStore`.
        guarded: Makes what the core holds, instead of one of stock's locks, while it records.

    Attributes:
        left: The instruments whose own methods make the measurements, because their source is not known.
    """

    def __init__(
        self,
        recording: Any,
        kinds: Any,
        exemplars: Any,
        store: Any,
        guarded: Callable[[Any], Any],
        *,
        skips_locks: bool,
    ) -> None:
        self._recording = recording
        self._kinds = kinds
        self._exemplars = exemplars
        self._guarded = guarded
        self._skips_locks = skips_locks
        self._stored_under = stored_under()
        self._unknown = unknown(RESTS_ON, "Recording")
        self._finds = are_known(sources(*FINDING))
        self.left: set[type] = set()
        self._recorders = store(RECORDER)
        self._facts_of = remembering(len(_KINDS) ** 2)(self._make_facts)
        # For an instrument's first measurement: it is given to stock's consumer, and nothing is learnt.
        self._first = {kind: self._empty(kind) for kind in _SIGNED}

    def _make_facts(self, kinds: frozenset[int]) -> Any:
        """That nobody has replaced what records amounts in stock, in aggregations of these kinds."""
        facts = [unreplaced(*place) for place in _RECORDING if hasattr(*place)]
        asked = ("_get_empty_bucket_counts", "_is_enabled", "is_enabled", "should_sample")
        facts += READ_OF_CONTEXTS
        facts += [fact for owner in (*_ASKED, *_FILTERS, *_KINDS) for fact in watched(owner, *asked)]
        numbers = self._recording.KINDS
        facts += [fact for kind, of in _AGGREGATING.items() if numbers[_KINDS[kind]] in kinds for fact in of]
        return self._recording.facts_of(facts)

    def make_recorder(self, instrument: Any) -> Any:
        """Make the instrument's recorder and store it on the instrument; None if it cannot have one."""
        consumer: Any = getattr(instrument, "_measurement_consumer", None)
        is_own = type(instrument) in _SIGNED and type(consumer) is SynchronousMeasurementConsumer
        if not is_own or (_ASKED and not _asks_own(instrument)):
            return None
        if not self._finds:
            return self._recorders.keep(self._basic(instrument, consumer), instrument)
        for each in consumer._reader_storages.values():
            if type(each) is not MetricReaderStorage:
                return None
            if instrument not in each._instrument_view_instrument_matches:
                # Stock finds an instrument's views, and warns about conflicts, at the first measurement.
                config = getattr(instrument, "_meter_config", None)
                return self._first[type(instrument)] if config is None or config._config.is_enabled else None
        recorder = self._basic(instrument, consumer)
        if not all(_is_stock(each, *_CONSUMING) for each in (consumer, *recorder.storages.values())):
            return None
        recorder.sights, recorder.is_refused = Sights(), True
        try:
            self._plan(recorder, instrument)
        except Exception as error:
            faults.raise_interruption(error)
            _logger.exception("The fast path cannot read %r; stock records for it.", instrument)
        return self._recorders.keep(recorder, instrument)

    def make_observed(self, instrument: Any, consumer: Any, storage: Any) -> Any:
        """Make the recorder of an observable instrument's series in one reader's storage."""
        recorder = self._basic(instrument, consumer)
        recorder.storages = {None: storage}
        is_found = self._finds and instrument in storage._instrument_view_instrument_matches
        if is_found and _is_stock(storage, MetricReaderStorage):
            recorder.sights, recorder.is_refused = Sights(), True
            self._plan(recorder, instrument)
        return recorder

    def _basic(self, instrument: Any, consumer: Any) -> Any:
        """A recorder that knows no view."""
        recorder = self._empty(type(instrument))
        config = getattr(instrument, "_meter_config", None)
        recorder.consumer, recorder.storages = vars(consumer), consumer._reader_storages
        if config is not None:
            recorder.config = vars(config)
            # Creates the instance's dict; the attributes are then read from it.
            vars(config._config)
        return recorder

    def _empty(self, kind: type) -> Any:
        """A recorder for instruments of this class, with nothing of any one."""
        recorder = self._kinds.Recorder()
        recorder.consumer, recorder.storages, recorder.config = {}, {}, None
        recorder.least = self._recording.LEAST if _SIGNED.get(kind, True) else 0
        recorder.series, recorder.sights = {}, None
        recorder.homes, recorder.bytes = [], 0
        recorder.facts, recorder.filters, recorder.learn = self._facts_of(frozenset()), None, None
        recorder.samples, recorder.is_refused = 0, False
        return recorder

    def forget(self) -> None:
        """Remove the recorders from all instruments, and our exemplar buckets from their reservoirs."""
        for instrument, recorder in self._recorders.forget():
            # A bound instrument may still refer to it.
            recorder.is_refused = True
            if recorder.sights is None:
                continue
            for match in _matches_of(recorder.storages, instrument):
                for aggregation in tuple(match._attributes_aggregation.values()):
                    if self._offers_of(aggregation) != "offer":
                        self._exemplars.give_back(aggregation._reservoir, _BUCKET_FACTORY)

    def series_of(self, instrument: Any, attributes: Any) -> Any:
        """Where a bound instrument records, or None if that is not known yet."""
        is_ours = type(instrument) in _SIGNED and type(instrument) not in self.left
        recorder = self._recording.recorder_of(instrument) if is_ours else None
        if recorder is None or recorder.is_refused or recorder.sights is None:
            return None
        if attributes is not None and (type(attributes) is not dict or not self._recording.is_plain(attributes)):
            return None
        series = self._recording.BoundSeries()
        series.recorder, series.attributes, series.cells = recorder, attributes, None
        return series

    def _offers_of(self, aggregation: Any) -> str:
        return "offer" if type(aggregation._reservoir) in self._unknown else _offers(aggregation)

    def _plan(self, recorder: Any, instrument: Any) -> None:
        sampling = recorder.consumer["_sdk_config"].exemplar_filter
        if not _is_stock(sampling, *_FILTERS) or type(sampling) in self._unknown:
            return
        recorder.samples = self._recording.SAMPLES[_FILTERS[type(sampling)]]
        matches = _matches_of(recorder.storages, instrument)
        if not all(_is_stock(match, _matches._ViewInstrumentMatch) for match in matches):
            return
        views = [match._view for match in matches]
        if not all(type(view) is View for view in views):
            return
        keys = [view._attribute_keys for view in views if view._attribute_keys is not None]
        if not all(type(each) in {set, frozenset, list, tuple} for each in keys):
            return
        recorder.filters = tuple((each, type(each)(each)) for each in keys) or None
        recorder.learn = functools.partial(self._learn, tuple(matches))
        recorder.is_refused = False

    def _learn(self, matches: tuple[Any, ...], recorder: Any, key: Any, kept: Any) -> Any:
        """Remember, and return, the cells in which stock has recorded these plain attributes; None if it has not."""
        if (size := _size(kept)) > _LARGEST:
            return None
        found = [match._attributes_aggregation for match in matches]
        homes = recorder.homes
        if not _are(homes, found):
            # The known series belong to aggregations that stock has dropped at a collection.
            recorder.forget()
            homes = recorder.homes = [[home] for home in found]
        cells = []
        # Another thread may collect meanwhile, which sets `home[0]` to None.
        for match, home in zip(matches, homes, strict=True):
            allowed = match._view._attribute_keys
            stored = kept if allowed is None else {name: value for name, value in kept.items() if name in allowed}
            aggregation = (home[0] or {}).get(self._stored_under(stored))
            if aggregation is None:
                # For example, because of a cardinality limit.
                return None
            if type(aggregation) is _aggregations._DropAggregation and type(aggregation) not in self._unknown:
                continue
            if not _is_stock(aggregation, *_KINDS):
                recorder.is_refused = True
                return None
            cells.append(self._cell(match, home, aggregation))
        most = _LEAST + _EACH * max(map(len, found), default=0)
        known = len(recorder.series)
        if recorder.bytes + size > most * _USUAL:
            most = known
        made = tuple(cells)
        facts = self._facts_of(frozenset([cell.kind for cell in made]))
        # Before the cells can be found. Those of other attributes are of the same kinds, unless a view was changed.
        recorder.facts = (
            facts
            if not recorder.series or recorder.facts is facts
            else self._facts_of(frozenset(self._recording.KINDS.values()))
        )
        keep(recorder.series, key, made, most)
        # Of the average size, if the oldest made room.
        recorder.bytes = recorder.bytes * (len(recorder.series) - 1) // max(known, 1) + size
        return made

    def _cell(self, match: Any, home: list[Any], aggregation: Any) -> Any:
        cell = self._kinds.SeriesCell()
        cell.aggregation, cell.state = aggregation, vars(aggregation)
        cell.kind = self._recording.KINDS["other" if type(aggregation) in self._unknown else _KINDS[type(aggregation)]]
        cell.lock = self._guarded(aggregation._lock)
        cell.attributes = aggregation._attributes
        cell.scale = None
        cell.boundaries = getattr(aggregation, "_boundaries", ())
        # Until 1.43, each exponential histogram had them.
        is_exponential = _KINDS[type(aggregation)] == "exponential"
        cell.keeps_extremes = getattr(aggregation, "_record_min_max", is_exponential)
        cell.is_filtered = match._view._attribute_keys is not None
        cell.match = match
        cell.home = home if getattr(match, "_reset_on_collect", False) else None
        cell.is_plain = cell.home is None and cell.kind != self._recording.KINDS["other"]
        # Another lock is one of gevent's, for example.
        may_skip = self._skips_locks and cell.is_plain and type(aggregation._lock) is LockType
        cell.is_locked = aggregation._lock.locked if may_skip else None
        cell.reservoir = reservoir = aggregation._reservoir
        cell.reservoir_state = vars(reservoir)
        offers = self._offers_of(aggregation)
        cell.offers = self._exemplars.OFFERS[offers]
        if offers == "offer":
            cell.buckets = cell.reservoir_lock = None
        else:
            cell.buckets = [None] * reservoir._size
            cell.reservoir_lock = self._guarded(reservoir._lock)
        return cell


def _asks_own(instrument: Any) -> bool:
    """Whether the instrument asks stock's own methods whether it is enabled."""
    config = getattr(instrument, "_meter_config", None)
    return has_own(instrument, _ASKED) and (type(config) not in _ASKED or has_own(config, _ASKED))


def _matches_of(storages: dict[Any, Any], instrument: Any) -> list[Any]:
    """The view matches of the instrument in all readers' storages."""
    return [match for each in storages.values() for match in each._instrument_view_instrument_matches[instrument]]


def _are(homes: list[Any], found: list[Any]) -> bool:
    """Whether the homes refer to exactly these dicts."""
    return len(homes) == len(found) and all(home[0] is each for home, each in zip(homes, found, strict=True))


def _size(attributes: dict[str, Any]) -> int:
    """The size of the keys and values in bytes."""
    return sum(map(sys.getsizeof, attributes)) + sum(map(sys.getsizeof, attributes.values()))


def _offers(aggregation: Any) -> str:
    """How a measurement is offered to the reservoir of this aggregation."""
    reservoir = aggregation._reservoir
    if not _is_stock(reservoir, *_RESERVOIRS) or "_lock" not in vars(reservoir):
        return "offer"
    storage = reservoir._reservoir_storage
    if type(storage) is not defaultdict or storage.default_factory is not _BUCKET_FACTORY or not _bucket.hold():
        return "offer"
    if type(reservoir) is AlignedHistogramBucketExemplarReservoir and tuple(reservoir._boundaries) != getattr(
        aggregation, "_boundaries", ()
    ):
        return "offer"
    return _RESERVOIRS[type(reservoir)]
