"""What stands behind the Collector: takes its OTLP over HTTP and counts what arrives, without ids and times."""

from __future__ import annotations

import gzip
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}
# The SDK's metrics about itself: queues and durations are not the same twice.
_OF_THE_SDK = "opentelemetry-sdk"
_TIMES = ("start_time_unix_nano", "time_unix_nano")


@dataclass
class Arrived:
    """What arrived in one run.

    Attributes:
        spans: Everything of a span but ids and times, with its resource and scope -> how many.
        parents: Name of a span, and of its parent, in the same trace -> how many.
        logs: Likewise of log records.
        metrics: Series, with its resource and scope -> what it counted in the end.
        repeated: How many spans came twice: sent again after an answer was lost.
        faults: What no span may be -> how many.
    """

    spans: Counter[bytes] = field(default_factory=Counter)
    logs: Counter[bytes] = field(default_factory=Counter)
    metrics: dict[bytes, bytes] = field(default_factory=dict)
    repeated: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    _names: dict[bytes, tuple[str, bytes, bytes]] = field(default_factory=dict)
    _known: set[tuple[bytes, int]] = field(default_factory=set)
    _last: dict[bytes, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def span_count(self) -> int:
        """How many different spans arrived."""
        return len(self._names)

    def parents(self) -> Counter[tuple[str, str]]:
        """Which spans are below which: the names of both."""
        found: Counter[tuple[str, str]] = Counter()
        for name, trace, parent in self._names.values():
            above = self._names.get(parent)
            found[name, "" if not parent else above[0] if above is not None and above[1] == trace else "missing"] += 1
        return found

    def take(self, request: Any) -> None:
        """Count one export request."""
        with self._lock:
            for kind, scopes, items, take in (
                ("resource_spans", "scope_spans", "spans", self._span),
                ("resource_logs", "scope_logs", "log_records", self._log),
                ("resource_metrics", "scope_metrics", "metrics", self._metric),
            ):
                for resource in getattr(request, kind, ()):
                    begin = resource.resource.SerializeToString(deterministic=True) + resource.schema_url.encode()
                    for scope in getattr(resource, scopes):
                        if scope.scope.name != _OF_THE_SDK:
                            place = (
                                begin + scope.scope.SerializeToString(deterministic=True) + scope.schema_url.encode()
                            )
                            for item in getattr(scope, items):
                                take(place, item)

    def _span(self, place: bytes, span: Any) -> None:
        identity = span.span_id
        if identity in self._names:
            self.repeated += 1
            return
        self._names[identity] = span.name, span.trace_id, span.parent_span_id
        self._check(span)
        for name in ("trace_id", "span_id", "parent_span_id", "start_time_unix_nano", "end_time_unix_nano"):
            span.ClearField(name)
        for event in span.events:
            event.ClearField("time_unix_nano")
        self.spans[place + span.SerializeToString(deterministic=True)] += 1

    def _check(self, span: Any) -> None:
        start, end = span.start_time_unix_nano, span.end_time_unix_nano
        self.faults["ends before it starts"] += not 0 < start <= end
        self.faults["has an event outside of its time"] += any(
            not start <= event.time_unix_nano <= end for event in span.events
        )
        self.faults["has no ids"] += len(span.span_id) != 8 or len(span.trace_id) != 16

    def _log(self, place: bytes, record: Any) -> None:
        (number,) = (pair for pair in record.attributes if pair.key == "number")
        identity = place, number.value.int_value
        record.attributes.remove(number)
        if identity in self._known:
            return
        self._known.add(identity)
        self.faults["is a log record outside of a span"] += not (record.trace_id and record.span_id)
        for name in ("trace_id", "span_id", "time_unix_nano", "observed_time_unix_nano"):
            record.ClearField(name)
        self.logs[place + record.SerializeToString(deterministic=True)] += 1

    def _metric(self, place: bytes, metric: Any) -> None:
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            attributes = b"".join(sorted(pair.SerializeToString(deterministic=True) for pair in point.attributes))
            key = place + metric.name.encode() + metric.unit.encode() + metric.description.encode() + attributes
            if point.time_unix_nano < self._last.get(key, 0):
                continue
            self._last[key] = point.time_unix_nano
            for name in (*_TIMES, "exemplars", "attributes"):
                point.ClearField(name)
            self.metrics[key] = kind.encode() + point.SerializeToString(deterministic=True)


class Receiver:
    """A server on a port of loopback. `arrived` has what came; a new one begins a new run."""

    def __init__(self) -> None:
        self.arrived = Arrived()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                receiver.arrived.take(REQUESTS[self.path].FromString(body))
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
