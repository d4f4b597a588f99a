"""A changed step costs that step: the telemetry is that of the changed stock, and the patches stay applied.

Each test changes what one function of stock does, in processes of their own, as a new release might.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("telemetry_program.py")
TRACE = "opentelemetry.sdk.trace"
METRICS = "opentelemetry.sdk.metrics._internal"
RECORDING = ("metrics.counter", "metrics.updowncounter", "metrics.histogram", "metrics.gauge")
BATCH = (
    "if getattr(data, 'name', '') == 'child' or getattr(getattr(data, 'log_record', None), 'body', '') == 'number 1': "
    "return"
)
# What is changed, how, and the patches that stay applied.
CHANGED = {
    f"{TRACE}:Tracer.start_span": ("name = name + '~'", ("tracer.start_span", "span.end", "batch_processor.on_end")),
    f"{TRACE}:Tracer._is_enabled": ("if len(self.resource.attributes) == 0: return False", ("tracer.start_span",)),
    f"{TRACE}:Span.end": ("self.set_attribute('mutated', 'yes')", ("tracer.start_span", "batch_processor.on_end")),
    f"{TRACE}.export:BatchSpanProcessor.on_end": ("if span.name == 'child': return", ("tracer.start_span", "span.end")),
    "opentelemetry.sdk._shared_internal:BatchProcessor.emit": (
        BATCH,
        ("tracer.start_span", "span.end", "batch_processor.on_end", "logs.emit", "logs.instrumentation_emit"),
    ),
    f"{TRACE}:Span.add_event": ("name = name + '~'", ("tracer.start_span", "span.record_exception")),
    "opentelemetry.exporter.otlp.proto.common._internal.trace_encoder:_encode_span": (
        "sdk_span = __import__('copy').copy(sdk_span); sdk_span._name += '~'",
        ("otlp.http_spans",),
    ),
    "opentelemetry.context:detach": (
        "__import__('opentelemetry.trace').trace.get_current_span().set_attribute('detached', 'yes')",
        ("tracer.start_span", "span.end"),
    ),
    f"{TRACE}:Span._readable_span": ("self._name += '~'", ("tracer.start_span", "batch_processor.on_end")),
    f"{METRICS}.aggregation:_SumAggregation.aggregate": ("if measurement.value == 7: return", RECORDING),
    f"{METRICS}.aggregation:_LastValueAggregation.aggregate": ("if measurement.value == 7: return", RECORDING),
    f"{METRICS}.aggregation:_ExplicitBucketHistogramAggregation.aggregate": (
        "if measurement.value == 7: return",
        RECORDING,
    ),
    f"{METRICS}.aggregation:_ExplicitBucketHistogramAggregation.collect": (
        "self._boundaries = (1, 2)",
        ("metrics.collect", *RECORDING),
    ),
    f"{METRICS}.instrument:Counter.add": ("amount = amount + 1", RECORDING),
    f"{METRICS}.instrument:Histogram.record": ("amount = amount + 1", RECORDING),
    f"{METRICS}.instrument:Gauge.set": ("attributes = {**(attributes or {}), 'more': 1}", RECORDING),
    f"{METRICS}.measurement:Measurement.__post_init__": (
        "object.__setattr__(self, 'value', self.value + 1)",
        ("metrics.collect",),
    ),
    f"{METRICS}.exemplar.exemplar_reservoir:FixedSizeExemplarReservoirABC.offer": ("value = value + 1", RECORDING),
    f"{METRICS}.exemplar.exemplar_reservoir:FixedSizeExemplarReservoirABC.collect": (
        "point_attributes = {}",
        ("metrics.collect", *RECORDING),
    ),
    f"{METRICS}.exemplar.exemplar_reservoir:AlignedHistogramBucketExemplarReservoir._find_bucket_index": (
        "return 0",
        ("metrics.collect", *RECORDING),
    ),
    f"{METRICS}._view_instrument_match:_ViewInstrumentMatch.consume_measurement": (
        "if measurement.value == 7: return",
        ("metrics.collect", *RECORDING),
    ),
    f"{METRICS}.metric_reader_storage:MetricReaderStorage.consume_measurement": (
        "if measurement.value == 7: return",
        RECORDING,
    ),
    f"{METRICS}.measurement_consumer:SynchronousMeasurementConsumer.consume_measurement": (
        "if measurement.value == 7: return",
        RECORDING,
    ),
}


@pytest.fixture(scope="module")
def ran():
    """Call it to have what a program prints; the processes that fork the programs are ended with the module."""
    started = {}

    def run(core, place="", line=""):
        loaded = "nothing" if place.startswith("opentelemetry.context") else "stock" if core == "stock" else "fastpath"
        if loaded not in started:
            command = [sys.executable, str(PROGRAM), loaded]
            started[loaded] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process = started[loaded]
        print(json.dumps([core, place, line]), file=process.stdin, flush=True)
        found, stderr = (json.loads(process.stdout.readline()) for _ in range(2))
        assert found is not None, stderr
        assert "failed in" not in stderr, stderr
        return found

    yield run
    for process in started.values():
        process.communicate()


@pytest.fixture(scope="module")
def unchanged(ran):
    """The telemetry of stock."""
    return ran("stock")["telemetry"]


CORES = ("py", "c")


def cases():
    """Each change with both cores, one of which is left to the slow tests."""
    for number, (place, rest) in enumerate(CHANGED.items()):
        for core in CORES:
            marks = [pytest.mark.slow] if core == CORES[number % 2] else []
            yield pytest.param(core, place, *rest, marks=marks, id=f"{core}-{place.partition(':')[2]}")


@pytest.mark.parametrize(("core", "place", "line", "applied"), list(cases()))
def test_a_changed_step_costs_that_step(ran, unchanged, core, place, line, applied):
    """The telemetry is that of the changed stock, also after `uninstrument()`, and these patches are applied."""
    expected = ran("stock", place, line)["telemetry"]
    found = ran(core, place, line)

    assert expected != unchanged or "_is_enabled" in place
    assert found["telemetry"].pop("undone") == expected["spans"]
    assert found["telemetry"] == expected
    states = {name: found["status"][name] for name in applied}
    assert {name: state for name, (state, _) in states.items() if state != "applied"} == {}


@pytest.mark.parametrize("core", CORES)
def test_nothing_is_changed(ran, unchanged, core):
    """The program's telemetry is stock's, and all patches of the signals are applied, without a remark."""
    found = ran(core)

    assert found["telemetry"].pop("undone") == unchanged["spans"]
    assert found["telemetry"] == unchanged
    names = {name for _, applied in CHANGED.values() for name in applied}
    assert {name: found["status"][name] for name in names} == {name: ["applied", ""] for name in names}
