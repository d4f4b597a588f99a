"""The stock instrumentation is enabled: ours does, with what it was told, and exactly once."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("opentelemetry.instrumentation.genai.openai", reason="stock's needs OpenTelemetry 1.43")

PROGRAM = """
import sys
import openai
from madeup import CHAT, answer, http
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otel_fastpath import FastpathInstrumentor

class Hook:
    def on_completion(self, **content):
        print("hook", content["inputs"][0].parts[0].content, content["outputs"][0].parts[0].content)

exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
tracers = TracerProvider(shutdown_on_exit=False)
tracers.add_span_processor(SimpleSpanProcessor(exporter))
meters = MeterProvider([reader], shutdown_on_exit=False)
told = dict(tracer_provider=tracers, meter_provider=meters, completion_hook=Hook())

def call(who):
    client = openai.OpenAI(api_key="k", base_url="http://localhost:9/v1",
        http_client=http.Client(transport=http.MockTransport(answer([CHAT], []))))
    client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}])
    original = not hasattr(type(client).request, "__wrapped__")
    for span in exporter.get_finished_spans():
        print(who, "ours" if not original else "theirs", span.name, span.instrumentation_scope.name)
    exporter.clear()

if sys.argv[1] == "first":
    OpenAIInstrumentor().instrument(**told)
    FastpathInstrumentor().instrument()
else:
    FastpathInstrumentor().instrument()
    OpenAIInstrumentor().instrument(**told)
call("both")
data = reader.get_metrics_data().resource_metrics[0].scope_metrics
print(sorted(metric.name for scope in data for metric in scope.metrics if metric.name.startswith("gen_ai")))
FastpathInstrumentor().uninstrument()
call("without us")
OpenAIInstrumentor().uninstrument()
call("nobody")
"""


@pytest.mark.parametrize("order", ["first", "last"])
def test_there_is_one_span_with_its_settings_in_either_order(order):
    """Providers and completion hook are those given to stock's, which goes on when ours is taken off."""
    from pathlib import Path

    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, order],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parent,
    )

    scope = "opentelemetry.instrumentation.genai.openai"
    assert run.stdout.splitlines() == [
        "hook Hi Hello.",
        f"both ours chat gpt-4o {scope}",
        "['gen_ai.client.operation.duration', 'gen_ai.client.token.usage']",
        "hook Hi Hello.",
        f"without us theirs chat gpt-4o {scope}",
    ], run.stderr
    assert run.stderr == ""
