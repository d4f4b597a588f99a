"""Measure the prices of the simulation on this machine, and write them to `prices.json`.

    python -m examples.guard.prices

One FastAPI endpoint is called in this process, without a server: without telemetry; recorded, with and without internal
spans; and with its trace shed. Exports are encoded and not sent. The ways take turns, and each price is the median.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased

from examples.guard.simulation import PRICES
from otel_fastpath import FastpathInstrumentor

ROUNDS, REQUESTS = 40, 200
SCOPE = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "method": "GET",
    "scheme": "http",
    "path": "/items/3",
    "raw_path": b"/items/3",
    "query_string": b"",
    "root_path": "",
    "headers": [(b"host", b"shop.example"), (b"user-agent", b"python-httpx/0.28.1"), (b"accept", b"*/*")],
    "client": ("127.0.0.1", 50000),
    "server": ("127.0.0.1", 8000),
}
SILENT = {"tracing": False, "metrics": False, "logs": False}


class Encoding(SpanExporter):
    """Encodes spans, and measures what that takes."""

    def __init__(self) -> None:
        self.seconds, self.spans = 0.0, 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Encode the spans; send nothing."""
        began = time.thread_time()
        # Read anew: this package replaces it.
        trace_exporter.encode_spans(spans).SerializeToString()
        self.seconds += time.thread_time() - began
        self.spans += len(spans)
        return SpanExportResult.SUCCESS


class Way:
    """One way to serve the endpoint, and what it has cost."""

    def __init__(self, kind: str, *, sampled: bool = True, internal: bool = False, bare: bool = False) -> None:
        self.exporter, self.rounds = Encoding(), list[float]()
        tracers = TracerProvider(sampler=ParentBased(ALWAYS_ON if sampled else ALWAYS_OFF))
        self.processor = BatchSpanProcessor(self.exporter, max_queue_size=1 << 20, schedule_delay_millis=3_600_000)
        tracers.add_span_processor(self.processor)
        providers: dict[str, Any] = {
            "tracer_provider": tracers,
            "meter_provider": MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False),
        }
        is_own = kind == "own" and not bare
        self.app = FastAPI(telemetry={**providers, "operation_spans": internal, "logs": False} if is_own else SILENT)

        @self.app.get("/items/{number}")
        async def read(number: int) -> dict[str, int]:
            return {"number": number}

        if kind == "contrib" and not bare:
            excluded: list[Any] = [] if internal else ["send", "receive"]
            FastAPIInstrumentor.instrument_app(self.app, exclude_spans=excluded, **providers)

    async def serve(self) -> None:
        """Serve a round of requests."""

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Any) -> None:
            pass

        began = time.thread_time()
        for _ in range(REQUESTS):
            await self.app({**SCOPE, "state": {}}, receive, send)
        self.rounds.append((time.thread_time() - began) / REQUESTS * 1e6)
        self.processor.force_flush()

    def price(self) -> float:
        """Microseconds of CPU a request, without exports."""
        return statistics.median(self.rounds[2:])

    def export(self) -> float:
        """Microseconds of CPU for the export of a request's spans."""
        return self.exporter.seconds / (REQUESTS * len(self.rounds)) * 1e6


def measure(kind: str) -> dict[str, Any]:
    """The prices of one kind of instrumentation, as in `simulation.Prices`."""
    ways = {
        "bare": Way(kind, bare=True),
        "whole": Way(kind, internal=True),
        "kept": Way(kind),
        "dropped": Way(kind, sampled=False),
    }

    async def rounds() -> None:
        for _ in range(ROUNDS):
            for way in ways.values():
                await way.serve()

    asyncio.run(rounds())
    bare, whole, kept, dropped = (ways[name] for name in ("bare", "whole", "kept", "dropped"))
    return {
        "application": round(bare.price(), 1),
        "kept": round(kept.price() - bare.price(), 1),
        "internal": round(whole.price() + whole.export() - kept.price() - kept.export(), 1),
        "dropped": round(dropped.price() - bare.price(), 1),
        "export": round(kept.export(), 1),
        "spans": kept.exporter.spans // (REQUESTS * ROUNDS),
    }


def main() -> None:
    """Measure, and write the file."""
    FastpathInstrumentor().instrument()
    services = {kind: measure(kind) for kind in ("contrib", "own")}
    names = ("fastapi", "opentelemetry-sdk", "opentelemetry-instrumentation-fastapi")
    found = {
        "python": sys.version.split()[0],
        "releases": {name: version(name) for name in names},
        "unit": "microseconds of CPU a request",
        "services": services,
    }
    PRICES.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    print(PRICES.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
