"""The telemetry of the applications that the servers of these tests serve.

`SERVED_CORE` is "stock", or the core of otel-fastpath, which is put in place first. Each application answers
`GET /telemetry`, which is not instrumented, with the spans and metrics so far.
"""

from __future__ import annotations

import json
import os

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

TELEMETRY = "/telemetry"
CHUNKS = [b"chunk "] * 3
# More than the buffers of two sockets hold: a server notices that its client has gone.
MANY = 4000
BLOCK = b"x" * 16384

if os.environ["SERVED_CORE"] != "stock":
    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument(core=os.environ["SERVED_CORE"], disabled="exceptions")

_exporter = InMemorySpanExporter()
_tracers = TracerProvider()
_tracers.add_span_processor(SimpleSpanProcessor(_exporter))
_reader = InMemoryMetricReader()
trace.set_tracer_provider(_tracers)
metrics.set_meter_provider(MeterProvider([_reader]))


def telemetry():
    """The spans and metrics so far, without ids and times, as JSON."""
    finished = _exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in finished}
    spans = [
        {
            "name": span.name,
            "kind": span.kind.name,
            "attributes": dict(span.attributes),
            "status": [span.status.status_code.name, span.status.description],
            "events": [[event.name, event.attributes.get("exception.type")] for event in span.events],
            "parent": span.parent and names.get(span.parent.span_id, f"{span.parent.span_id:x}"),
            "trace": f"{span.context.trace_id:x}" if span.parent and span.parent.is_remote else "",
            "scope": span.instrumentation_scope.name,
        }
        for span in finished
    ]
    data = _reader.get_metrics_data()
    points = [
        {
            "name": metric.name,
            "attributes": dict(point.attributes),
            "value": getattr(point, "value", getattr(point, "count", None)),
            "sum": None if "duration" in metric.name else getattr(point, "sum", None),
        }
        for resource in (data.resource_metrics if data else ())
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
        if metric.name.startswith("http.")
    ]
    return json.dumps({"spans": spans, "points": points}).encode()
