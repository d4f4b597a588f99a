"""A lock that plain Python code holds since Python 3.14: measurements on its own thread do not wait for it."""

from __future__ import annotations

import gc
import threading

import pytest
from newer_releases import older
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_fastpath import left_out
from otel_fastpath.metrics.instruments import reentry

SEVERAL = (1, 2) if older("opentelemetry-sdk", "1.45") else [1, 2]


@pytest.fixture
def marked():
    """A lock and what `with` is used with."""
    lock = threading.Lock()
    return lock, reentry.MarkedLock(lock)


def test_a_measurement_in_the_block_is_recorded_after_it(instrumented, marked):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """As that of a signal handler, which would otherwise wait for its own thread."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    counter = provider.get_meter("reentry").create_counter("counter")
    counter.add(1, {"a": 1})
    lock, guarded = marked

    def total():
        [of_resource] = reader.get_metrics_data().resource_metrics
        return of_resource.scope_metrics[0].metrics[0].data.data_points[0].value

    with guarded:
        assert lock.locked()
        counter.add(2, {"a": 1})
        seen = []
        other = threading.Thread(target=lambda: seen.append(total()))
        other.start()
        other.join()

    assert seen == [1]
    assert total() == 3
    assert not lock.locked()
    assert not reentry.inside


def test_an_error_in_the_block_passes_and_leaves_nothing(marked):
    """The lock is released, and the thread is no longer marked."""
    lock, guarded = marked

    with pytest.raises(ValueError, match="here"), guarded:
        raise ValueError("here")

    assert not lock.locked()
    assert not reentry.inside


def test_a_signal_handler_that_raises_leaves_no_mark():
    """The thread measures on as before where the lock was not acquired."""

    class Interrupted:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *_exception):
            raise AssertionError("not acquired")

    with pytest.raises(KeyboardInterrupt), reentry.MarkedLock(Interrupted()):
        pass

    assert not reentry.inside


def test_measurements_that_each_are_interrupted_by_the_next_do_not_nest():
    """Of a signal handler, where signals are as frequent as measurements: all are recorded, in their order."""
    recorded = []

    def stock(_instrument, amount, _attributes, _context):
        # As a signal handler does that runs in the middle of it.
        if amount < 5000:
            reentry.record(stock, None, amount + 1, {}, None)
        recorded.append(amount)

    reentry.record(stock, None, 1, {}, None)

    assert recorded == list(range(1, 5001))
    assert not reentry.inside


def test_measurements_that_each_cause_two_more_end(monkeypatch, logged):
    """As in a callback of the garbage collector where each recording starts a collection; the rest is counted."""
    monkeypatch.setattr(reentry, "limit", type(reentry.limit)())
    left_out.forget()
    recorded = []

    def stock(_instrument, amount, _attributes, _context):
        for _ in range(2):
            reentry.record(stock, None, 1, {}, None)
        recorded.append(amount)

    for _ in range(3):
        reentry.record(stock, None, 1, {}, None)

    assert 10_000 < len(recorded) < 11_000
    assert left_out.counts() == {"measurements made while others were recorded": len(recorded) + 3}
    assert [line.partition(". ")[0] for line in logged()] == ["Left out: measurements made while others were recorded"]
    assert not reentry.inside


def test_a_measurement_in_a_callback_of_the_garbage_collector_ends(instrumented, monkeypatch):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """The collector runs at each seventh object, so that each measurement that is recorded later causes the next."""
    monkeypatch.setattr(reentry, "limit", type(reentry.limit)())
    provider = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    counter = provider.get_meter("reentry").create_counter("collections")

    def measure(phase, _info):
        # A set of attributes that is recorded by stock's code: not hashable, where stock allows that.
        counter.add(1, {"phase": phase, "of": SEVERAL})

    before = gc.get_threshold()
    gc.callbacks.append(measure)
    gc.set_threshold(7)
    try:
        counter.add(1, {"of": SEVERAL})
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(measure)

    assert not reentry.inside
