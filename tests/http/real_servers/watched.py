"""Applications under load, whose spans are checked as they end: for ASGI, WSGI and aiohttp.web.

Each request has a number, in a header and in its trace id. `GET /telemetry`, which is not instrumented, tells what was
found.
"""

from __future__ import annotations

import gc
import json
import os
import threading

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

TELEMETRY = "/telemetry"
NUMBER = "x-number"
BLOCK = b"x" * 16384

if os.environ["SERVED_CORE"] != "stock":
    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument(core=os.environ["SERVED_CORE"], disabled="exceptions")


class Watch(SpanProcessor):
    """Counts the requests whose spans ended, and those whose spans were mixed up."""

    def __init__(self):
        self.lock = threading.Lock()
        self.open = {}
        self.ended = 0
        self.inner = 0
        self.mixed = []

    def on_start(self, span, parent_context=None):
        """A span begins."""
        del parent_context
        if span.kind is trace.SpanKind.SERVER:
            with self.lock:
                self.open[span.context.span_id] = span.context.trace_id

    def on_end(self, span):
        """A span ended."""
        with self.lock:
            if span.kind is trace.SpanKind.SERVER:
                self.ended += 1
                found = self.open.pop(span.context.span_id, None)
                is_right = found == span.context.trace_id == span.attributes["number"] and span.parent.span_id == found
            elif span.name == "inner":
                self.inner += 1
                # The application's own span ends before that of the request.
                found = self.open.get(span.parent.span_id)
                is_right = found == span.context.trace_id == span.attributes["number"]
            else:
                # Those of ASGI's messages: the last one may be received after the response.
                is_right = span.parent is not None and span.parent.trace_id == span.context.trace_id
            if not is_right and len(self.mixed) < 5:
                self.mixed.append(f"{span.name} {span.context} {span.parent} {dict(span.attributes)}")


_watch = Watch()
_tracers = TracerProvider()
_tracers.add_span_processor(_watch)
_reader = InMemoryMetricReader()
trace.set_tracer_provider(_tracers)
metrics.set_meter_provider(MeterProvider([_reader]))
_tracer = trace.get_tracer("application")


def inner(number):
    """A span of the application's own."""
    return _tracer.start_as_current_span("inner", attributes={"number": int(number)})


def telemetry():
    """What was found, as JSON."""
    gc.collect()
    with open("/proc/self/statm") as file:  # noqa: PTH123  # read often
        pages = int(file.read().split()[1])
    data = _reader.get_metrics_data()
    values = {"active": 0, "durations": 0}
    for scope in data.resource_metrics[0].scope_metrics if data else ():
        for metric in scope.metrics:
            for point in metric.data.data_points:
                if "active" in metric.name:
                    values["active"] += point.value
                elif metric.name == "http.server.duration":
                    values["durations"] += point.count
    return json.dumps(
        {
            **values,
            "open": len(_watch.open),
            "ended": _watch.ended,
            "inner": _watch.inner,
            "mixed": _watch.mixed,
            "kilobytes": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        }
    ).encode()


def tell(span, number):
    """Put the number of a request on its span."""
    span.set_attribute("number", int(number))
