"""OTEL_FASTPATH_TELEMETRY: by default a service emits what it emitted before, and more if it is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from at_exit import without_stocks_lines
from disabled_instrumentations import all_but

pytest.importorskip("opentelemetry.instrumentation.genai.openai", reason="stock's needs OpenTelemetry 1.43")

SCRIPTS = Path(sys.executable).parent
MADE_UP = Path(__file__).parent / "genai" / "openai"
STOCK = "opentelemetry-instrumentation-genai-openai"
# Spans, metrics and exceptions of its own, and calls of a library. Its last line on stderr is what the status says.
PROGRAM = """
import json, sys
import openai
from madeup import CHAT, answer, http
from opentelemetry import metrics, trace

def call():
    client = openai.OpenAI(api_key="k", base_url="http://localhost:9/v1",
        http_client=http.Client(transport=http.MockTransport(answer([CHAT], []))))
    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}])
    client.models.list()

served = metrics.get_meter("service").create_counter("served")
for number in range(3):
    with trace.get_tracer("service").start_as_current_span("request", attributes={"number": number}) as span:
        try:
            raise LookupError("no such item")
        except LookupError as error:
            span.record_exception(error)
        call()
        served.add(1, {"number": number})
module = sys.modules.get("otel_fastpath.instrumentor")
rows = module.FastpathInstrumentor().status() if module else []
print(json.dumps({row.name: [row.state.value, row.reason] for row in rows}), file=sys.stderr)
"""
NOT_ASKED_FOR = ["off", "telemetry=same: the instrumentation of openai is not loaded in this process"]


@pytest.fixture
def service(environ, tmp_path):
    """Runs the program under opentelemetry-instrument with these variables; its spans, its metrics and the status."""
    program = tmp_path / "service.py"
    program.write_text(PROGRAM, encoding="utf-8")
    for name in [name for name in os.environ if name.startswith("OTEL_") and "START_LINE" not in name]:
        environ.delenv(name)

    def run(**variables):
        exporters = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}
        result = subprocess.run(
            [SCRIPTS / "opentelemetry-instrument", sys.executable, program],
            env={
                **os.environ,
                **exporters,
                "OTEL_LOGS_EXPORTER": "none",
                "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": all_but("fastpath", "openai"),
                "PYTHONPATH": f"{tmp_path}{os.pathsep}{MADE_UP}",
                **variables,
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        *before, status = without_stocks_lines(result.stderr).splitlines()
        assert before == []
        spans, series = told(result.stdout)
        return spans, series, json.loads(status)

    return run


@pytest.fixture
def uninstalled(tmp_path):
    """The stock instrumentation has no entry point: a distribution of its name that has none is found first."""
    info = tmp_path / f"{STOCK.replace('-', '_')}-{metadata.version(STOCK)}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {STOCK}\nVersion: {metadata.version(STOCK)}\n")


def told(output):
    """The spans and the metric series that were written, without ids, times and what follows from times."""
    spans, series, decoder = Counter(), Counter(), json.JSONDecoder()
    output = output.strip()
    while output:
        document, end = decoder.raw_decode(output)
        output = output[end:].lstrip()
        for resource in document.get("resource_metrics", ()):
            for scope in resource["scope_metrics"]:
                for metric in scope["metrics"]:
                    for point in metric["data"]["data_points"]:
                        is_duration = metric["unit"] == "s"
                        kept = {key: point[key] for key in ("value", "count") if key in point}
                        if not is_duration and "sum" in point:
                            kept["sum"] = point["sum"]
                        kept |= {"attributes": point["attributes"], "scope": scope["scope"]["name"]}
                        series[json.dumps([metric["name"], metric["unit"], kept], sort_keys=True)] += 1
        if "context" in document:
            for event in document["events"]:
                del event["timestamp"]
            kept = {key: document[key] for key in ("name", "kind", "status", "attributes", "events", "links")}
            spans[json.dumps([kept, document["parent_id"] is None], sort_keys=True)] += 1
    return spans, series


def names(counted):
    """The names of spans or metrics."""
    found = (json.loads(line)[0] for line in counted)
    return {each if isinstance(each, str) else each["name"] for each in found}


def own(counted):
    """The names of our own metrics about exceptions."""
    return {name for name in names(counted) if name.startswith("cpython.")}


def test_a_service_emits_what_it_emitted_before(service, core):
    """Where the stock instrumentation is installed, ours emits its spans and metrics, and no others."""
    stock_spans, stock_series, _ = service(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=all_but("openai"))
    spans, series, status = service(OTEL_FASTPATH_CORE=core)

    assert names(stock_spans) == {"request", "chat gpt-4o"}
    assert {"served", "gen_ai.client.operation.duration", "gen_ai.client.token.usage"} <= names(stock_series)
    assert (spans, series) == (stock_spans, stock_series)
    assert status["openai.request"] == ["applied", ""]
    assert status["exceptions"] == ["off", "telemetry=same: counting exceptions was not asked for"]
    beyond = "telemetry=same: the stock instrumentation emits nothing for it"
    assert {tuple(row) for name, row in status.items() if name.startswith("openai.socket.")} == {("off", beyond)}


@pytest.mark.slow
@pytest.mark.usefixtures("uninstalled")
def test_what_was_not_instrumented_is_not(service, core):
    """Without the stock instrumentation there were no spans of the library, and there are none."""
    stock_spans, stock_series, _ = service(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=all_but("openai"))
    spans, series, status = service(OTEL_FASTPATH_CORE=core)

    assert names(stock_spans) == {"request"}
    assert names(stock_series) == {"served"}
    assert (spans, series) == (stock_spans, stock_series)
    assert status["openai.request"] == NOT_ASKED_FOR


@pytest.mark.usefixtures("uninstalled")
def test_full_emits_all_that_there_is(service):
    """The calls of all libraries, and the exceptions."""
    spans, series, status = service(OTEL_FASTPATH_TELEMETRY="full")

    assert names(spans) == {"request", "chat gpt-4o", "models.list"}
    assert "gen_ai.client.token.usage" in names(series)
    assert status["openai.request"] == ["applied", ""]
    if sys.version_info >= (3, 12) and status["exceptions"] == ["applied", ""]:
        assert own(series) == {"cpython.exceptions"}


@pytest.mark.usefixtures("uninstalled")
def test_what_is_asked_for_by_name_is_emitted(service):
    """And nothing else is."""
    spans, series, _ = service(OTEL_FASTPATH_OPENAI="on")
    assert names(spans) == {"request", "chat gpt-4o", "models.list"}
    assert own(series) == set()

    spans, series, status = service(OTEL_FASTPATH_EXCEPTIONS="raised")
    assert names(spans) == {"request"}
    if sys.version_info >= (3, 12) and status["exceptions"] == ["applied", ""]:
        assert own(series) == {"cpython.exceptions"}
    assert status["openai.request"] == NOT_ASKED_FOR


@pytest.mark.parametrize("order", ["ours first", "theirs first", "ours only"])
def test_in_the_code_of_a_service(environ, order):
    """`instrument()` in a lifespan, beside the stock instrumentation and without it."""
    program = f"""
import contextlib, sys
sys.path.insert(0, {str(MADE_UP)!r})
import openai
from madeup import CHAT, answer, http
from opentelemetry import metrics, trace
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otel_fastpath import FastpathInstrumentor

class Reader(InMemoryMetricReader):
    pass

exporter, reader = InMemorySpanExporter(), Reader()
tracers = TracerProvider(shutdown_on_exit=False)
tracers.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(tracers)
metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
kinds = {{"ours first": [FastpathInstrumentor, OpenAIInstrumentor], "ours only": [FastpathInstrumentor],
         "theirs first": [OpenAIInstrumentor, FastpathInstrumentor]}}[{order!r}]
for kind in kinds:
    kind().instrument()
metrics.get_meter("service").create_counter("served").add(1)
client = openai.OpenAI(api_key="k", base_url="http://localhost:9/v1",
    http_client=http.Client(transport=http.MockTransport(answer([CHAT], []))))
client.chat.completions.create(model="gpt-4o", messages=[{{"role": "user", "content": "Hi"}}])
client.models.list()
with contextlib.suppress(LookupError):
    raise LookupError
for span in exporter.get_finished_spans():
    print(span.name, span.instrumentation_scope.name)
data = reader.get_metrics_data().resource_metrics[0].scope_metrics
print(sorted(metric.name for scope in data for metric in scope.metrics))
OpenAIInstrumentor().uninstrument() if len(kinds) > 1 else None
exporter.clear()
client.chat.completions.create(model="gpt-4o", messages=[{{"role": "user", "content": "Hi"}}])
print(len(exporter.get_finished_spans()), [row.reason for row in FastpathInstrumentor().status()
    if row.name == "openai.request"])
"""
    for name in [name for name in os.environ if name.startswith("OTEL_") and "START_LINE" not in name]:
        environ.delenv(name)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)

    *told_before, after = result.stdout.splitlines()
    expected = ["['served']"]
    if order != "ours only":
        scope = "opentelemetry.instrumentation.genai.openai"
        series = ["gen_ai.client.operation.duration", "gen_ai.client.token.usage", "served"]
        expected = [f"chat gpt-4o {scope}", str(series)]
    assert told_before == expected
    assert after == f"0 {NOT_ASKED_FOR[1:]}"
    assert without_stocks_lines(result.stderr) == ""
