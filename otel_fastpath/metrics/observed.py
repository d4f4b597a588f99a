"""Observable instruments: the recorders of their series, and the collection that calls their callbacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.metrics import CallbackOptions
from opentelemetry.sdk.metrics._internal import instrument as _instruments
from opentelemetry.sdk.metrics._internal import measurement_consumer as _consumers
from opentelemetry.sdk.metrics._internal.exceptions import MetricsTimeoutError
from opentelemetry.sdk.metrics._internal.metric_reader_storage import MetricReaderStorage

from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import has_own, own_methods

if TYPE_CHECKING:
    from collections.abc import Callable

_KINDS: Final = (_instruments._ObservableCounter, _instruments._ObservableUpDownCounter, _instruments._ObservableGauge)
_OWN: Final = own_methods(
    {kind: tuple(each for each in ("callback", "_is_enabled") if hasattr(kind, each)) for kind in _KINDS}
)
_consumer_globals: Final = vars(_consumers)
# Stock's own, in nanoseconds.
_DEFAULT_TIMEOUT: Final = 10_000 * 1e6
OBSERVED: Final = "_otel_fastpath_observed"


class ObservableCollector:
    """Collects for one reader, its observable instruments first.

    Args:
        observe: The function of this name in `observing` or its compiled twin.
        make_series: The class `series.ObservedSeries`, likewise.
        make_recorder: The planner's function of this name for one storage.
        store: The class `plans.PlanStore`.
    """

    def __init__(
        self, observe: Callable[..., None], make_series: Any, make_recorder: Callable[..., Any], store: Any
    ) -> None:
        self._observe = observe
        self._make_series = make_series
        self._make_recorder = make_recorder
        self._series = store(OBSERVED)

    def forget(self) -> None:
        """Remove the recorders from all storages."""
        self._series.forget()

    def collect(self, consumer: Any, reader: Any, timeout_millis: float) -> Any:
        """As `SynchronousMeasurementConsumer.collect`.

        Raises:
            Exception: As stock does: of the recording of a measurement, and if the callbacks take too long.
        """
        clock = _consumer_globals["time_ns"]
        with consumer._lock:
            storage = consumer._reader_storages[reader]
            options = CallbackOptions()
            deadline = clock() + timeout_millis * 1e6
            sampling = consumer._sdk_config.exemplar_filter
            for instrument in consumer._async_instruments:
                remaining = deadline - clock()
                if remaining < _DEFAULT_TIMEOUT:
                    options = CallbackOptions(timeout_millis=remaining / 1e6)
                is_own = type(instrument) in _OWN and has_own(instrument, _OWN)
                measurements = None if is_own else instrument.callback(options)
                if clock() >= deadline:
                    raise MetricsTimeoutError("Timed out while executing callback")
                if measurements is None:
                    if not hasattr(instrument, "_is_enabled") or instrument._is_enabled():
                        self._observe(
                            instrument, options, self._recorder(consumer, instrument, storage), storage, sampling
                        )
                    continue
                for each in measurements:
                    sampled = sampling.should_sample(each.value, each.time_unix_nano, each.attributes, each.context)
                    storage.consume_measurement(each, sampled)
            return consumer._reader_storages[reader].collect()

    def _recorder(self, consumer: Any, instrument: Any, storage: Any) -> Any:
        """The recorder of the instrument's series in this storage; None if stock records."""
        # Kept on the storage, so that nothing stays of a reader that is removed.
        if type(storage) is not MetricReaderStorage:
            return None
        try:
            series = vars(storage).get(OBSERVED)
            if series is None or series.owner != id(storage):
                series = self._make_series()
                series.recorders = {}
                self._series.keep(series, storage)
            recorder = series.recorders.get(id(instrument))
            if recorder is None or recorder.sights is None:
                recorder = series.recorders[id(instrument)] = self._make_recorder(instrument, consumer, storage)
        except Exception as error:
            faults.absorb("metrics collection", error)
            return None
        return recorder
