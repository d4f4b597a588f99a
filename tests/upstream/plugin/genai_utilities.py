"""Stands in for `opentelemetry.test_util_genai`: the suite of the OpenAI instrumentation needs it, and no index has it.

A pytest plugin: its fixtures are those of that package, which the suite's conftest asks for as plugins of their own.
"""

from __future__ import annotations

import contextlib
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.fixture
def span_exporter():
    """Keeps the spans of `tracer_provider`."""
    return InMemorySpanExporter()


@pytest.fixture
def log_exporter():
    """Keeps the records of `logger_provider`."""
    return InMemoryLogRecordExporter()


@pytest.fixture
def metric_reader():
    """Reads the metrics of `meter_provider`."""
    return InMemoryMetricReader()


@pytest.fixture
def tracer_provider(span_exporter):
    """A provider that exports each span when it ends."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(span_exporter))
    yield provider
    provider.shutdown()


@pytest.fixture
def logger_provider(log_exporter):
    """A provider that exports each record when it is emitted."""
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(log_exporter))
    yield provider
    provider.shutdown()


@pytest.fixture
def meter_provider(metric_reader):
    """A provider whose metrics are read on demand."""
    provider = MeterProvider([metric_reader])
    yield provider
    provider.shutdown()


@pytest.fixture
def weaver_live_check():
    """Skips the test: the program that it checks telemetry with, and its registry, are downloaded from GitHub."""
    pytest.skip("weaver is not here")


@contextlib.contextmanager
def instrument(
    instrumentor: Any, *, content_capture: str | None = None, extra_env: Any = None, **keywords: Any
) -> Iterator[Any]:
    """Instrument with these providers and variables, and remove it again."""
    variables = {**({} if content_capture is None else {_CAPTURE: content_capture}), **(extra_env or {})}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setitem(os.environ, name, value)
        instrumentor.instrument(**keywords)
        try:
            yield instrumentor
        finally:
            instrumentor.uninstrument()


def scrub_response_headers_overwrite(_replacements: Any) -> Any:
    """What a recording hides: nothing is recorded here, and the recordings have it hidden already."""
    return lambda response: response


def _module(name: str, **attributes: Any) -> None:
    made = ModuleType(f"opentelemetry.test_util_genai{name}", "A part of what this plugin stands in for.")
    vars(made).update(attributes)
    sys.modules[made.__name__] = made


_module("")
_module(".fixtures")
_module(
    ".vcr",
    scrub_response_headers_overwrite=scrub_response_headers_overwrite,
    scrub_response_headers=lambda response: response,  # nothing is recorded
)
_module(".instrumentor", instrument=instrument)
_module(".conformance", Scenario=type("Scenario", (), {}), run_conformance=None)
_module(".scope", TelemetryHandlerScopeTest=type("TelemetryHandlerScopeTest", (), {}))
