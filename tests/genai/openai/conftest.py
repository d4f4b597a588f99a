"""Telemetry of the wrapper, kept in memory, and clients whose answers are made up in the process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import SimpleNamespace

import openai
import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.genai.openai import LIBRARY, patches
from otel_fastpath.genai.openai.telemetry import CaptureSettings, OpenAITelemetry, TelemetryScope
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import Patcher
from otel_fastpath.settings import Config

# What is shared by tests is no part of the installed package.
sys.path.insert(0, str(Path(__file__).parent))

from madeup import answer, http  # found only from here on


@pytest.fixture(scope="module", autouse=True)
def patched():
    """The wrapper's patches alone; other folders' tests go without."""
    patcher = Patcher(LIBRARY.patches, interpreter.installed)
    patcher.install(settings=Config())
    yield
    patcher.uninstall()


@pytest.fixture
def told():
    """What the wrapper told: `spans()`, `metrics()`, `events()`; `use(**settings)` begins anew with these settings."""
    exporter, reader, logs = InMemorySpanExporter(), InMemoryMetricReader(), InMemoryLogRecordExporter()
    tracers, loggers = TracerProvider(shutdown_on_exit=False), LoggerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
    meters = MeterProvider([reader], shutdown_on_exit=False)
    providers = {"tracer_provider": tracers, "meter_provider": meters, "logger_provider": loggers}

    def use(**settings):
        patches.use(OpenAITelemetry(TelemetryScope("test", "1"), CaptureSettings(**settings), providers))

    def metrics():
        data = reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name.startswith("gen_ai.")
        }

    use()
    yield SimpleNamespace(
        spans=exporter.get_finished_spans,
        metrics=metrics,
        events=lambda: [each.log_record for each in logs.get_finished_logs()],
        use=use,
        providers=providers,
        tracer=tracers.get_tracer("tests"),
    )
    patches.use(None)


@pytest.fixture
def asked():
    """The requests that the answering side has seen."""
    return []


@pytest.fixture
def client(told, asked):  # noqa: ARG001  # it is what the client's calls go to
    """`client(*answers)`: a synchronous client that gets them in turn."""

    def make(*answers, base_url="http://localhost:9/v1", kind=openai.OpenAI, **settings):
        transport = http.MockTransport(answer(answers, asked))
        return kind(
            api_key="sk-test",
            base_url=base_url,
            max_retries=0,
            http_client=http.Client(transport=transport),
            **settings,
        )

    return make


@pytest.fixture
def run_async(told, asked):  # noqa: ARG001  # likewise
    """`run_async(scenario, *answers)`: runs a coroutine function with an asynchronous client that gets them in turn."""

    def run(scenario, *answers):
        async def main():
            transport = http.MockTransport(answer(answers, asked))
            async with openai.AsyncOpenAI(
                api_key="sk-test",
                base_url="http://localhost:9/v1",
                max_retries=0,
                http_client=http.AsyncClient(transport=transport),
            ) as made:
                return await scenario(made)

        return asyncio.run(main())

    return run
