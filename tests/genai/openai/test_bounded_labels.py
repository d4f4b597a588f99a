"""Models that an application makes up without end: the number of series is bounded, and spans have the names."""

from __future__ import annotations

import pytest
from madeup import CHAT, answer, http
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from otel_fastpath import left_out
from otel_fastpath.genai.openai import patches
from otel_fastpath.genai.openai.telemetry import CaptureSettings, OpenAITelemetry, TelemetryScope
from otel_fastpath.wrapping import labels

MOST = 5
CALLS = 20
DURATION = "gen_ai.client.operation.duration"


@pytest.fixture
def series(monkeypatch):
    """Labels and counts of the durations of calls, of which few sets are kept."""
    monkeypatch.setattr(labels, "MOST_SETS", MOST)
    left_out.forget()
    reader = InMemoryMetricReader()
    providers = {
        "tracer_provider": TracerProvider(shutdown_on_exit=False),
        "meter_provider": MeterProvider([reader], shutdown_on_exit=False),
    }
    patches.use(OpenAITelemetry(TelemetryScope("test", "1"), CaptureSettings(), providers))

    def read():
        [of_resource] = reader.get_metrics_data().resource_metrics
        found = [metric for scope in of_resource.scope_metrics for metric in scope.metrics if metric.name == DURATION]
        return [(dict(point.attributes), point.count) for metric in found for point in metric.data.data_points]

    yield read
    patches.use(None)


def test_models_without_end_are_one_series(series):
    """The durations of all calls are recorded; those beyond the limit without the models."""
    import openai

    transport = http.MockTransport(answer([CHAT], []))
    given = {"api_key": "k", "base_url": "http://localhost:9/v1", "http_client": http.Client(transport=transport)}
    with openai.OpenAI(**given) as client:
        for number in range(CALLS):
            client.chat.completions.create(model=f"m-{number}", messages=[])

    found = series()

    assert len(found) == MOST + 1
    assert sum(count for _, count in found) == CALLS
    [(rest, count)] = [each for each in found if "gen_ai.request.model" not in each[0]]
    assert count == CALLS - MOST
    assert rest == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "server.address": "localhost",
        "server.port": 9,
    }
    assert left_out.counts()["gen_ai.request.model of openai's metrics"] >= 1
