"""Forks of a process that collects metrics: the reader that the SDK starts again in the child goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import free_threading
import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform"),
    free_threading.forks_among_threads,
]

SET_UP = """
import os, signal, sys, threading
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider, SimpleFixedSizeExemplarReservoir
from opentelemetry.sdk.metrics.export import MetricExporter, MetricExportResult, PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import View

CORE, ORDER, FORKS = sys.argv[1], sys.argv[2], int(sys.argv[3])
exported = threading.Semaphore(0)

class Counting(MetricExporter):
    def export(self, data, timeout_millis=0, **kwargs):
        exported.release()
        return MetricExportResult.SUCCESS

    def shutdown(self, timeout_millis=0, **kwargs):
        pass

    def force_flush(self, timeout_millis=0):
        return True

def instrument():
    from otel_fastpath.instrumentor import FastpathInstrumentor
    FastpathInstrumentor().instrument(core=CORE)

def set_provider(**settings):
    # Children collect every 20 ms, their parent never: a fork during a collection leaves stock's locks locked.
    os.register_at_fork(after_in_child=lambda: setattr(reader, "_export_interval_millis", 20))
    reader = PeriodicExportingMetricReader(Counting(), export_interval_millis=3_600_000)
    provider = MeterProvider([reader], **settings)
    metrics.set_meter_provider(provider)
    return provider.get_meter("forks")

def end(is_right):
    os._exit(0 if is_right else 1)
"""
IN_THE_FORCED_ORDER = """
collecting, are_handlers_done = threading.Event(), threading.Event()
parent = os.getpid()

class Waiting(SimpleFixedSizeExemplarReservoir):
    def collect(self, point_attributes):
        if os.getpid() != parent:
            collecting.set()
            are_handlers_done.wait(30)
        return super().collect(point_attributes)

meter = set_provider(views=[View(instrument_name="*", exemplar_reservoir_factory=lambda kind: Waiting)])
meter.create_counter("counted").add(1)
# The reader is in the middle of a collection when the handlers of what is imported from here on run.
os.register_at_fork(after_in_child=lambda: collecting.wait(30))
instrument()
child = os.fork()
if not child:
    are_handlers_done.set()
    end(all(exported.acquire(timeout=30) for _ in range(3)))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0)
"""
MANY = """
AT_ONCE = 8
if ORDER == "after":
    instrument()
meter = set_provider()
counter = meter.create_counter("counted")
if ORDER == "before":
    instrument()
sys.setswitchinterval(1e-5)
wrong, children = 0, set()

def wait(most):
    global wrong
    while len(children) > most:
        child, status = os.wait()
        children.discard(child)
        wrong += bool(status)

for number in range(FORKS):
    child = os.fork()
    if not child:
        signal.alarm(120)
        counter.add(1, {"a": 1})
        end(all(exported.acquire(timeout=30) for _ in range(2)))
    children.add(child)
    wait(AT_ONCE)
wait(0)
print(wrong)
os._exit(0)
"""


@pytest.fixture
def run(core):
    """Runs a program with the provider set before or after this package; gives what it printed."""

    def run(program, order="before", forks=1, limit=120):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SET_UP + program, core, order, str(forks)],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env={key: value for key, value in os.environ.items() if "START_LINE" in key or not key.startswith("OTEL")},
        )
        assert done.stderr == ""
        return done.stdout.strip()

    return run


def test_a_reader_that_collects_while_the_handlers_of_a_fork_run_goes_on(run):
    """The SDK's own handler, which starts the reader's thread, runs before ours if the provider was set before."""
    assert run(IN_THE_FORCED_ORDER) == "0"


@pytest.mark.parametrize("order", ["before", "after"])
def test_no_reader_ends_in_a_child(run, order):
    """Each child's reader collects twice, every 20 ms, whether the provider was set before or after this package."""
    assert run(MANY, order, 100) == "0"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("order", ["before", "after"])
def test_no_reader_ends_in_one_of_20_000_children(run, order):
    """The same for 20,000 forks."""
    assert run(MANY, order, 20_000, 3500) == "0"
