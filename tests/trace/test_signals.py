"""Signal handlers that make spans and measure: they run in the middle of whatever the main thread does."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal on this platform")

SIGNALS = 2000
PROGRAM = """
SIGNALS = int(sys.argv[2])
handled = 0

def handle(number, frame):
    global handled
    in_the_handler()
    handled += 1

def send():
    for count in range(SIGNALS):
        os.kill(os.getpid(), signal.SIGUSR1)
        while handled <= count:
            time.sleep(0)

signal.signal(signal.SIGUSR1, handle)
sys.setswitchinterval(1e-5)
sender = threading.Thread(target=send, daemon=True)
sender.start()
while handled < SIGNALS:
    in_the_main_thread()
sender.join()
print(handled, "handled")
"""
LIMITED = """
import signal, sys
from opentelemetry import context
from opentelemetry.sdk import trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument(core=sys.argv[1])

class Limit(Exception):
    pass

def handle(number, frame):
    raise Limit

class Exporter:
    def export(self, spans):
        signal.raise_signal(signal.SIGUSR1)

    def shutdown(self):
        pass

signal.signal(signal.SIGUSR1, handle)
provider = trace.TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Exporter()))
before = context.get_current()
try:
    provider.get_tracer("tests").start_span("a").end()
except Limit:
    print("reached", context.get_current() is before)
"""
SPANS = """
made = setup()
tracer = made.get_tracer("signals")

def in_the_handler():
    with tracer.start_as_current_span("handler", attributes={"a": 1}) as span:
        span.add_event("event", {"b": 2})
    assert dict(span.attributes) == {"a": 1}
    assert [event.name for event in span.events] == ["event"]
    assert dict(span._attributes) == {"a": 1}

def in_the_main_thread():
    with tracer.start_as_current_span("main", attributes={"a": 1}) as span:
        for number in range(3):
            span.add_event("event", {"number": number})
        span._events, span._attributes, span._links
        assert len(span.events) == 3
        assert dict(span.attributes) == {"a": 1}
"""
SETUPS = {
    "a processor of the user's own": """
def setup():
    return provider(Own())
""",
    "SimpleSpanProcessor": """
def setup():
    return provider(SimpleSpanProcessor(Nothing()))
""",
    "BatchSpanProcessor": """
def setup():
    return provider(BatchSpanProcessor(Nothing(), max_queue_size=1 << 20, max_export_batch_size=1 << 20))
""",
}


@pytest.mark.parametrize("setup", SETUPS.values(), ids=list(SETUPS))
def test_spans(in_a_process, setup):
    """2,000 handlers make and read spans while the main thread does: neither waits for itself, nothing is missing."""
    assert in_a_process(setup + SPANS + PROGRAM, SIGNALS) == f"{SIGNALS} handled\n"


INSTRUMENTS = """
from opentelemetry.sdk.metrics import MeterProvider, TraceBasedExemplarFilter, AlwaysOnExemplarFilter
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics import Counter, Histogram
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View

assert {row.state.value for row in FastpathInstrumentor().status() if row.name.startswith("metrics.")} == {"applied"}
temporality = getattr(AggregationTemporality, sys.argv[3])
reader = InMemoryMetricReader(preferred_temporality={Counter: temporality, Histogram: temporality})
views = [View(instrument_name="exponential", aggregation=ExponentialBucketHistogramAggregation())]
made = MeterProvider([reader], exemplar_filter=AlwaysOnExemplarFilter(), views=views, shutdown_on_exit=False)
meter = made.get_meter("signals")
counter, histogram = meter.create_counter("counter"), meter.create_histogram("histogram")
exponential = meter.create_histogram("exponential")
total = {"counter": 0, "histogram": 0, "exponential": 0}

def measure():
    counter.add(1, {"a": 1})
    histogram.record(30, {"a": 1})
    exponential.record(30, {"a": 1})

def collect():
    for of_resource in getattr(reader.get_metrics_data(), "resource_metrics", ()):
        for metric in of_resource.scope_metrics[0].metrics:
            [point] = metric.data.data_points
            seen = point.value if metric.name == "counter" else point.count
            total[metric.name] = seen + (total[metric.name] if sys.argv[3] == "DELTA" else 0)

in_the_handler = measure
measured = 0

def in_the_main_thread():
    global measured
    for _ in range(20):
        measure()
        measured += 1
"""
CHECK = """
collect()
assert total == dict.fromkeys(total, handled + measured), (total, handled, measured)
"""


@pytest.mark.parametrize("temporality", ["DELTA", "CUMULATIVE"])
def test_measurements(in_a_process, temporality):
    """2,000 handlers measure what the main thread measures: no amount is lost."""
    assert in_a_process(INSTRUMENTS + PROGRAM + CHECK, SIGNALS, temporality) == f"{SIGNALS} handled\n"


COLLECTING = """
def in_the_main_thread():
    global measured
    measure()
    measured += 1
    collect()
"""


@pytest.mark.parametrize("temporality", ["DELTA", "CUMULATIVE"])
def test_collections(in_a_process, temporality):
    """2,000 handlers measure what the main thread is collecting: no amount is lost."""
    program = INSTRUMENTS + COLLECTING + PROGRAM + CHECK
    assert in_a_process(program, SIGNALS, temporality) == f"{SIGNALS} handled\n"


def test_a_time_limit_within_an_exporter(core):
    """An exception of a signal handler reaches the application, with the context as it was, and is not logged."""
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED, core], capture_output=True, text=True, check=False, timeout=300
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "reached True\n", "")
