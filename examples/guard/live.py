"""The example service under a step of five times the load, with a limit on telemetry's CPU: `make example NAME=guard`.

    python -m examples.guard.live --limit 12% --out build/guard

Writes `result.svg` (telemetry's share and what is shed, over time) and `result.json`. The service reports its share by
its own metrics, once a second. At the end, the traces that arrived are checked: every span's parent is there, and the
adjusted counts of the requests add up to the number that was sent.
"""

import argparse
import asyncio
import json
import math
import os
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from examples.demo.database import postgresql
from examples.demo.processes import interrupts, running
from examples.demo.services import ROOT, start_service
from examples.guard.picture import draw
from otel_fastpath.shedding.thresholds import probability_of, threshold_in

WIRE = b"GET /items?category=lamp&limit=10 HTTP/1.1\r\nHost: shop.example:8000\r\n\r\n"
CONNECTIONS = 8
# Longer than a batch of spans waits.
SETTLE_S = 7.0
SERVER = 2  # SPAN_KIND_SERVER


@dataclass
class Received:
    """The telemetry of the service, as it arrived."""

    traces: list[bytes] = field(default_factory=list)
    metrics: list[tuple[float, bytes]] = field(default_factory=list)


def receive(received: Received) -> ThreadingHTTPServer:
    """Start a receiver of OTLP over HTTP on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/traces"):
                received.traces.append(body)
            else:
                received.metrics.append((time.monotonic(), body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


async def load(port: int, phases: list[tuple[float, float]]) -> int:
    """Send requests at the rate of each phase (seconds, requests a second); return how many were answered."""
    begun, answered = time.monotonic(), 0
    due: asyncio.Queue[None] = asyncio.Queue()

    async def work() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while True:
            await due.get()
            writer.write(WIRE)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
            answered += 1
            due.task_done()

    workers = [asyncio.create_task(work()) for _ in range(CONNECTIONS)]
    for seconds, rate in phases:
        end, sent, start = begun + seconds, 0, begun
        while time.monotonic() < end:
            await asyncio.sleep(0.02)
            wanted = int((min(time.monotonic(), end) - start) * rate)
            for _ in range(wanted - sent):
                due.put_nowait(None)
            sent = wanted
        begun = end
    await due.join()
    for worker in workers:
        worker.cancel()
    return answered


def series(received: Received, began: float) -> dict[str, list[tuple[float, float]]]:
    """What the service reported of the guard: name -> (seconds since the beginning, value)."""
    found: dict[str, list[tuple[float, float]]] = {"share": [], "level": [], "probability": []}
    for moment, body in received.metrics:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in (each for scope in resource.scope_metrics for each in scope.metrics):
                points = [point.as_double or float(point.as_int) for point in metric.gauge.data_points]
                if metric.name == "otel_fastpath.telemetry.cpu":
                    found["share"].append((moment - began, sum(points)))
                elif metric.name.startswith("otel_fastpath.guard."):
                    found[metric.name.rpartition(".")[2]].append((moment - began, points[0]))
    return found


def check(received: Received, answered: int) -> dict[str, Any]:
    """Whether the traces are whole, and their adjusted counts right."""
    requests = [ExportTraceServiceRequest.FromString(body) for body in received.traces]
    spans = [
        span
        for each in requests
        for resource in each.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    known = {(span.trace_id, span.span_id) for span in spans}
    orphans = [span for span in spans if span.parent_span_id and (span.trace_id, span.parent_span_id) not in known]
    roots = [span for span in spans if span.kind == SERVER and not span.parent_span_id]
    chances = [_probability(span.trace_state) for span in roots]
    return {
        "spans": len(spans),
        "orphans": len(orphans),
        "requests": answered,
        "kept": len(roots),
        "adjusted count": round(sum(1 / chance for chance in chances)),
        # Of an estimate from independent requests (Horvitz-Thompson).
        "standard error": round(math.sqrt(sum((1 - chance) / chance**2 for chance in chances))),
    }


def _probability(trace_state: str) -> float:
    entry = next((each[3:] for each in trace_state.split(",") if each.startswith("ot=")), "")
    return probability_of(threshold_in(entry) or 0)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.guard.live", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--limit", default="12%", help="the share of the CPU (default %(default)s)")
    parser.add_argument(
        "--rate", type=float, default=60, help="requests a second before the step (default %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=30, help="length of each of three phases (default %(default)s)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "guard", help="folder of the results")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Run the demonstration.

    Returns:
        The exit code: 0 if traces were whole and the counts within 2 %, or within three standard errors.
    """
    options = arguments(given)
    phases = [(options.seconds, options.rate), (2 * options.seconds, 5 * options.rate), (options.seconds, options.rate)]
    received = Received()
    with interrupts() as signals, running(options.out / "logs", signals) as processes:
        server = receive(received)
        settings = {
            "DATABASE_URL": os.environ.get("DATABASE_URL") or postgresql(processes),
            "OTEL_FASTPATH_MAX_CPU": options.limit,
            "OTEL_METRIC_EXPORT_INTERVAL": "1000",
        }
        service = start_service(processes, "fastpath", settings, f"http://127.0.0.1:{server.server_port}")
        service.wait()
        began = time.monotonic()
        answered = asyncio.run(load(service.port, phases))
        time.sleep(SETTLE_S)
        service.child.stop()
    found: dict[str, Any] = {"limit": options.limit, **series(received, began), **check(received, answered)}
    (options.out / "result.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    drawn = draw(found, float(options.limit.rstrip("%")) / 100, phases)
    (options.out / "result.svg").write_text(drawn, encoding="utf-8")
    for name in ("spans", "orphans", "requests", "kept", "adjusted count", "standard error"):
        print(f"{name}: {found[name]}")
    print(f"results: {options.out}")
    off = abs(found["adjusted count"] - answered)
    return int(bool(found["orphans"]) or off > max(0.02 * answered, 3 * found["standard error"]))


if __name__ == "__main__":
    sys.exit(main())
