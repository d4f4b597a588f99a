"""A receiver of OTLP over HTTP that keeps the telemetry and can summarise it: a collector small enough to read.

A run is the first part of the path, so that several services can send to one receiver and stay apart::

    python -m examples.otlp_receiver --port 4318
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318/mine opentelemetry-instrument ...
    curl http://127.0.0.1:4318/mine/summary
    curl 'http://127.0.0.1:4318/compare?stock=one&stock=another&fastpath=mine'
"""

import argparse
import gzip
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples.telemetry import summarise
from otel_fastpath.tools.verify import comparing, report
from otel_fastpath.tools.verify.export_items import items

PROTOBUF = "application/x-protobuf"
SIGNALS: dict[str, tuple[type[Message], type[Message]]] = {
    "traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
    "logs": (ExportLogsServiceRequest, ExportLogsServiceResponse),
}

DECODERS: dict[str, Callable[[bytes], bytes]] = {"identity": bytes, "gzip": gzip.decompress, "deflate": zlib.decompress}


@dataclass
class Run:
    """What one run sent: the uncompressed bodies by signal, and what they took on the wire."""

    bodies: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    wire_bytes: int = 0


async def receive(request: Request) -> Response:
    """POST /{run}/v1/{signal}: keep one export request, refuse what cannot be decoded."""
    signal = request.path_params["signal"]
    if signal not in SIGNALS:
        return Response(status_code=404)
    if request.headers.get("content-type") != PROTOBUF:
        return Response(status_code=415)
    wire = await request.body()
    wanted, answer = SIGNALS[signal]
    try:
        body = DECODERS[request.headers.get("content-encoding", "identity")](wire)
        wanted.FromString(body)
    except (DecodeError, KeyError, OSError, EOFError, zlib.error) as error:
        return Response(f"not an export request: {error}", status_code=400)
    run = _run(request)
    run.bodies[signal].append(body)
    run.wire_bytes += len(wire)
    return Response(answer().SerializeToString(), media_type=PROTOBUF)


async def summary(request: Request) -> Response:
    """GET /{run}/summary: how much the run sent, and its spans."""
    run = _run(request)
    return JSONResponse(_totals(run) | summarise(run.bodies.__getitem__))


async def compare(request: Request) -> Response:
    """GET /compare: the differences between runs with stock OpenTelemetry and one with otel-fastpath."""
    names = request.query_params
    runs = request.app.state.runs
    stock = [items(runs[name].bodies.__getitem__) for name in names.getlist("stock")]
    return JSONResponse(report.machine(comparing.compare(stock, items(runs[names["fastpath"]].bodies.__getitem__))))


async def totals(request: Request) -> Response:
    """GET /{run}: how much the run has sent so far."""
    return JSONResponse(_totals(_run(request)))


async def forget(request: Request) -> Response:
    """DELETE /{run}: drop what the run sent."""
    request.app.state.runs.pop(request.path_params["run"], None)
    return Response(status_code=204)


def _totals(run: Run) -> dict[str, Any]:
    return {"exports": {signal: len(run.bodies[signal]) for signal in SIGNALS}, "wire_bytes": run.wire_bytes}


def _run(request: Request) -> Run:
    run: Run = request.app.state.runs[request.path_params["run"]]
    return run


def create_app() -> Starlette:
    """Make a receiver that has received nothing."""
    made = Starlette(
        routes=[
            Route("/compare", compare),
            Route("/{run}/v1/{signal}", receive, methods=["POST"]),
            Route("/{run}/summary", summary),
            Route("/{run}", totals),
            Route("/{run}", forget, methods=["DELETE"]),
        ]
    )
    made.state.runs = defaultdict(Run)
    return made


def main() -> None:
    """Serve on loopback until stopped."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=4318)
    uvicorn.run(create_app(), host="127.0.0.1", port=parser.parse_args().port, access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
