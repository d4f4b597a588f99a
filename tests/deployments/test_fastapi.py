"""docs/fastapi.md: each span of a FastAPI service arrives, if its lifespan shuts the providers down."""

from __future__ import annotations

import sys

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
    assert "Traceback" not in service.log()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="gunicorn is not for Windows")
def test_uvicorns_workers_under_gunicorn(deploy, tmp_path):
    """They end as uvicorn does."""
    pytest.importorskip("gunicorn")
    (tmp_path / "app.py").write_text(block_of("fastapi.md", "provider.shutdown") + ROUTE)
    gunicorn = ("gunicorn", "app:app", "--bind", "127.0.0.1:{port}", "--workers", "2")
    service = deploy(*WAYS["opentelemetry-instrument"], *gunicorn, "-k", "uvicorn.workers.UvicornWorker")
    service.ask(5)

    assert service.stop() == NAMES
