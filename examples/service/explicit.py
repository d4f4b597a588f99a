"""The same service without `opentelemetry-instrument`: telemetry is set up in the code, otel-fastpath in the lifespan.

Run it from this folder, with the settings of `app.py` and a collector to send to::

    export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
    uvicorn explicit:app
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app import create_app
from app import lifespan as service_lifespan
from fastapi import FastAPI
from opentelemetry.instrumentation.asyncpg import AsyncPGInstrumentor
from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

from otel_fastpath.instrumentor import FastpathInstrumentor


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Instrument before anything is used; uninstrument when the service stops."""
    instrumentors: list[Any] = [FastpathInstrumentor(), AsyncPGInstrumentor(), OpenAIInstrumentor()]
    for instrumentor in instrumentors:
        instrumentor.instrument()
    try:
        async with service_lifespan(app):
            yield
    finally:
        for instrumentor in reversed(instrumentors):
            instrumentor.uninstrument()


# With auto_configure, FastAPI makes the providers and exporters that the OTEL_* variables ask for.
app = create_app(lifespan=lifespan, telemetry={"auto_configure": True})
