"""docs/fastapi.md: each span of a FastAPI service arrives, if its lifespan shuts the providers down."""

from __future__ import annotations

import pytest

from .conftest import block_of

pytestmark = pytest.mark.source
ROUTE = """

@app.get("/items/{item}")
async def read(item: int):
    return item
"""
PROVIDER = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from otel_fastpath import FastpathInstrumentor

FastpathInstrumentor().instrument()
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
FastAPIInstrumentor.instrument_app(app)
"""
NAMES = {"GET /items/{item}": 5, "GET /items/{item} http send": 10}
WAYS = {"code": (), "opentelemetry-instrument": ("opentelemetry-instrument",), "run": ("otel-fastpath", "run")}


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("opentelemetry-instrument", ()),
        pytest.param("run", (), marks=pytest.mark.slow),
        pytest.param("code", (), marks=pytest.mark.slow),
        pytest.param("code", ("--workers", "2"), marks=pytest.mark.slow),
    ],
)
def test_it_is_stopped(deploy, tmp_path, way, options):
    """SIGTERM ends uvicorn without Python's exit handlers."""
    (tmp_path / "app.py").write_text(
        block_of("fastapi.md", "provider.shutdown") + ROUTE + (PROVIDER if way == "code" else "")
    )
    service = deploy(*WAYS[way], "uvicorn", "app:app", "--port", "{port}", *options)
    service.ask(5)

    assert service.stop() == NAMES
