"""Observable instruments: whatever their callbacks do, what is collected, logged and raised is stock's."""

from __future__ import annotations

import gc
import logging
import random
import re
import weakref
from contextlib import ExitStack
from decimal import Decimal
from unittest.mock import patch

import pytest
from metricpairs.seeing import seen
from metricpairs.setups import DELTA, FILTERS, VIEWS
from metricpairs.values import CONTEXTS, attributes
from metricpairs.world import CLOCKS
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter, ObservableUpDownCounter
from opentelemetry.sdk.metrics._internal import measurement_consumer
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from stock_or_fastpath import stock

ALL_DELTA = {**DELTA, ObservableUpDownCounter: AggregationTemporality.DELTA}
READERS = (InMemoryMetricReader, lambda: InMemoryMetricReader(preferred_temporality=ALL_DELTA))
AMOUNTS = (0, 1, 2.5, -1, -0.0, 5, 7, 10_001, 1e300, 1 << 62)
ODD = (float("nan"), float("inf"), True, Decimal("1.5"), "1", None, 10**400, 1 << 63)
COLLECTIONS = 12
STOCK_LOGGER = "opentelemetry.sdk.metrics._internal.instrument"


class Odd:
    """No observation: its value is another one each time."""

    def __init__(self, amounts):
        self._amounts = iter(amounts)
        self.attributes, self.context = {"a": "x"}, None

    @property
    def value(self):
        """The next one."""
        return next(self._amounts)


def observed(chance, usual):
    """One item that a callback gives."""
    kind = chance.random()
    if kind < 0.02:
        return chance.choice([None, 5, Odd([1, 2]), Odd([1])])
    amount = chance.choice(ODD) if kind < 0.06 else chance.choice(AMOUNTS)
    which = chance.randrange(usual) if kind < 0.9 else chance.randrange(len(attributes()))
    return Observation(amount, attributes()[which], chance.choice(CONTEXTS) if kind > 0.85 else None)


def callback(chance, usual):
    """A callback of some kind."""

    def items():
        return [observed(chance, usual) for _ in range(chance.randint(0, 5))]

    def fail():
        raise LookupError("of a callback")

    def gives(_options):
        if chance.random() < 0.05:
            fail()
        return items()

    def yields(_options):
        for each in items():
            yield each
            if chance.random() < 0.02:
                fail()

    def goes_on():
        while True:
            yield items()

    kind = chance.random()
    return gives if kind < 0.6 else yields if kind < 0.9 else goes_on()


class Said(logging.Handler):
    """Keeps what stock logs."""

    def __init__(self, found):
        super().__init__()
        self._found = found

    def emit(self, record):
        """Keep it."""
        error = record.exc_info and repr(record.exc_info[1])
        text = re.sub(r" at 0x[0-9a-f]+", "", record.getMessage())
        self._found.append((record.name, record.levelname, text, error))


def run(seed):
    """Everything that is seen of one program."""
    chance = random.Random(seed)  # noqa: S311  # of a test
    found, now = [], [1_000]
    logger = logging.getLogger("opentelemetry")
    with ExitStack() as undo:
        for clock in CLOCKS:
            undo.enter_context(patch(clock, lambda: now[0]))
        undo.callback(random.setstate, random.getstate())
        random.seed(seed)
        handler = Said(found)
        logger.addHandler(handler)
        undo.callback(logger.removeHandler, handler)
        readers = [chance.choice(READERS)() for _ in range(chance.randint(1, 3))]
        names = chance.sample(sorted(VIEWS), chance.choice([0, 0, 1, 2]))
        provider = MeterProvider(
            metric_readers=readers,
            views=[VIEWS[name]() for name in names],
            exemplar_filter=FILTERS[chance.choice(["default", "default", *sorted(FILTERS)])](),
            shutdown_on_exit=False,
        )
        meter = provider.get_meter("observables")
        usual = chance.choice([2, 5, 9])
        for number in range(chance.randint(1, 4)):
            kind = chance.choice(["counter", "up_down_counter", "gauge"])
            callbacks = [callback(chance, usual) for _ in range(chance.randint(1, 2))]
            getattr(meter, f"create_observable_{kind}")(f"{kind}{number}", callbacks)
        counter = meter.create_counter("counter")
        meter.create_observable_gauge("measuring", [lambda _options: counter.add(1, {"a": "x"}) or []])
        for _ in range(COLLECTIONS):
            now[0] += 1
            try:
                found.append(seen(chance.choice(readers).get_metrics_data()))
            except Exception as error:
                found.append(repr(error))
    return found


@pytest.mark.proves("metrics.observe", "metrics.collect")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_random_callbacks(fast, part):
    """Points, log records and exceptions of any callbacks, views, filters and readers."""
    del fast
    for seed in range(part * 25, part * 25 + 25):
        with stock():
            expected = run(seed)
        assert run(seed) == expected, seed


@pytest.fixture
def provided(fast):
    """Makes a meter and its reader."""
    del fast

    def make(**settings):
        reader = InMemoryMetricReader(**settings)
        provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
        return provider.get_meter("observables"), reader

    return make


def values(reader):
    """The values of all points, by the name of their metric."""
    data = reader.get_metrics_data()
    return {
        metric.name: [point.value for point in metric.data.data_points]
        for scope in (data.resource_metrics[0].scope_metrics if data else ())
        for metric in scope.metrics
    }


def test_callbacks_that_take_long_are_an_error(provided, monkeypatch):
    """Stock looks after each instrument: the next one is not called."""
    now, called = [0], []
    monkeypatch.setattr(measurement_consumer, "time_ns", lambda: now[0])
    meter, reader = provided()

    def slow(options):
        called.append(options.timeout_millis)
        now[0] += 11_000_000_000
        return [Observation(1)]

    meter.create_observable_gauge("slow", [slow])
    meter.create_observable_gauge("never", [slow])

    for _ in range(4):
        with pytest.raises(measurement_consumer.MetricsTimeoutError):
            reader.collect(timeout_millis=10_000)
    assert called == [10_000] * 4


def test_a_callback_that_is_replaced_is_called(provided):
    """From the next collection on, and a method of the instrument's own."""
    meter, reader = provided()
    gauge = meter.create_observable_gauge("gauge", [lambda _options: [Observation(1, {"a": "x"})]])
    assert [values(reader) for _ in range(4)] == [{"gauge": [1]}] * 4

    gauge._callbacks[:] = [lambda _options: [Observation(2, {"a": "x"})]]
    assert values(reader) == {"gauge": [2]}
    gauge.callback = lambda _options: []
    assert values(reader) == {}
    del gauge.callback
    assert values(reader) == {"gauge": [2]}


def test_what_recording_raises_is_for_the_caller(provided):
    """A Decimal that cannot be added is no fault of the callback."""
    amounts = iter([1.5, Decimal(2), 1.5, Decimal(2)])
    meter, reader = provided()
    meter.create_observable_counter(
        "counter", [lambda _options: [Observation(next(amounts), {"a": "x"}) for _ in range(2)]]
    )

    for _ in range(2):
        with pytest.raises(TypeError, match="Decimal"):
            reader.get_metrics_data()


def test_a_reader_that_goes_is_not_kept(provided):
    """Its storage goes with it, whether another reader comes or not."""
    meter, reader = provided(preferred_temporality={ObservableCounter: AggregationTemporality.DELTA})
    gauge = meter.create_observable_gauge("gauge", [lambda _options: [Observation(1, {"a": "x"})]])
    for _ in range(3):
        values(reader)
    consumer = gauge._measurement_consumer
    if not hasattr(consumer, "remove_metric_reader"):
        pytest.skip("readers stay in this release")
    storage = weakref.ref(consumer._reader_storages[reader])
    assert len(storage()._otel_fastpath_observed.recorders) == 1
    consumer.remove_metric_reader(reader)
    gc.collect()
    assert storage() is None
