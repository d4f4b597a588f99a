"""Prints the telemetry of programs, with stock or this package, while a function of stock has another first line.

    python telemetry_program.py LOADED

Each line of standard input is a JSON list: the core, "stock", "c" or "py", the place and the new line. For each one
there is a forked process, so that only what may be loaded before is imported once: LOADED is "fastpath", or "stock" for
what stock's SDK imports, or "nothing". What is printed, in a line for each, has no ids and times, but the state of each
patch and what was written to stderr.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from changed_steps import ChangedModule


def main(loaded):
    """See above."""
    load(loaded)
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as stderr:
            child = os.fork()
            if not child:
                os.dup2(stderr.fileno(), 2)
                run_and_exit(*json.loads(line))
            os.waitpid(child, 0)
            stderr.seek(0)
            print(json.dumps(stderr.read()), flush=True)


def load(loaded):
    """Import what no test changes; nothing of the SDK."""
    if loaded == "fastpath":
        from otel_fastpath import FastpathInstrumentor  # not for stock

        FastpathInstrumentor().status()
    if loaded != "nothing":
        for name in ("google.protobuf.descriptor_pool", "opentelemetry.instrumentation.instrumentor", "psutil"):
            with contextlib.suppress(ImportError):  # not every release needs it
                importlib.import_module(name)
    assert not [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]


def run_and_exit(core, place, line):
    """Print what a program's telemetry is, and leave this process."""
    try:
        print(json.dumps(found(core, place, line)), flush=True)
    except BaseException:
        traceback.print_exc()
        print("null", flush=True)
    os._exit(0)


def found(core, place, line):
    """The telemetry and the status."""
    folder = tempfile.mkdtemp()
    if place:
        sys.meta_path.insert(0, ChangedModule(place, Path(folder), line))
    status = {}
    if core != "stock":
        from otel_fastpath import FastpathInstrumentor  # not for stock

        instrumentor = FastpathInstrumentor()
        instrumentor.instrument(core=core, telemetry="full")
    telemetry = {"spans": spans(), "metrics": metrics(), "logs": logs(), "requests": requests()}
    if core != "stock":
        status = {row.name: (row.state.value, row.reason) for row in instrumentor.status()}
        instrumentor.uninstrument()
        telemetry["undone"] = spans()
    shutil.rmtree(folder)
    # The file of the changed module is in stack traces.
    return json.loads(json.dumps({"telemetry": telemetry, "status": status}).replace(folder, ""))


def spans():
    """Spans of all kinds, as an exporter behind a batch processor gets them, and what another processor sees."""
    from opentelemetry import trace  # once the module that is changed can be found
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider  # likewise
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # likewise
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # likewise
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, TraceIdRatioBased  # likewise

    random.seed(1)
    seen = []

    class Sees(SpanProcessor):
        def on_start(self, span, parent_context=None):
            seen.append(["start", span.name, dict(span.attributes), span.start_time is not None, bool(parent_context)])
            span.set_attribute("seen", len(seen))

        def on_end(self, span):
            seen.append(["end", span.name, type(span).__name__])

    found = []
    for processors in ([], [Sees()]):
        exporter = InMemorySpanExporter()
        for sampler in (ALWAYS_ON, ParentBased(TraceIdRatioBased(0.5))):
            provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
            for each in (*processors, BatchSpanProcessor(exporter)):
                provider.add_span_processor(each)
            use(provider.get_tracer("a", "1", attributes={"scope": 1}), trace)
            provider.shutdown()
        found.append([described(span) for span in exporter.get_finished_spans()])
    return [*found, seen]


def use(tracer, trace):
    """Start and end spans in every way."""
    link = trace.Link(trace.SpanContext(1, 2, is_remote=True, trace_flags=trace.TraceFlags(1)), {"l": 1})
    remote = trace.set_span_in_context(trace.NonRecordingSpan(link.context))
    for number in range(3):
        with tracer.start_as_current_span("outer", attributes={"n": number, "list": ["a", "b"]}) as outer:
            with tracer.start_as_current_span("inner", kind=trace.SpanKind.CLIENT, links=[link]) as inner:
                inner.set_attributes({"a": 1, "b": "text", "c": [1.5]})
                inner.add_event("event", {"e": True}, timestamp=5)
                inner.set_status(trace.StatusCode.OK)
            outer.update_name("renamed")
            tracer.start_span("child", context=remote, start_time=3).end(9)
    with contextlib.suppress(ValueError), tracer.start_as_current_span("failing", attributes=None):
        int("no such item")
    span = tracer.start_span("described")
    span.record_exception(KeyError("key"), {"more": "yes"})
    span.end()
    span.set_attribute("late", 1)
    span.end()


def described(span):
    """A span without ids and times; the lines of code in a stack trace are those of this file."""
    events = [[event.name, dict(event.attributes)] for event in span.events]
    parent = None if span.parent is None else [span.parent.is_remote, span.parent.trace_flags]
    context = span.context
    flags = [int(context.trace_flags), context.is_remote, context.is_valid, dict(context.trace_state)]
    status = [span.status.status_code.name, span.status.description]
    links = [[dict(each.attributes), each.context.span_id] for each in span.links]
    times = [span.start_time in {3, None}, span.end_time == 9, span.start_time <= span.end_time]
    scope = [span.instrumentation_scope.name, dict(span.instrumentation_scope.attributes)]
    dropped = [span.dropped_attributes, span.dropped_events, span.dropped_links]
    attributes = list(map(str, span.attributes.items()))
    return [span.name, span.kind.name, attributes, events, links, parent, flags, status, times, scope, dropped]


def requests():
    """The spans in OTLP requests: their names and attributes."""
    from opentelemetry import trace  # likewise
    from opentelemetry.exporter.otlp.proto.http import trace_exporter  # likewise
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # likewise
    from opentelemetry.sdk.trace import TracerProvider  # likewise
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult  # likewise

    found = []

    class Encodes(SpanExporter):
        def export(self, spans):
            encoded = trace_exporter.encode_spans(spans).SerializePartialToString()
            message = ExportTraceServiceRequest.FromString(encoded)
            for span in message.resource_spans[0].scope_spans[0].spans:
                events = [[each.name, [str(item) for item in each.attributes][:1]] for each in span.events]
                found.append([span.name, span.kind, [str(each) for each in span.attributes], events, len(span.links)])
            return SpanExportResult.SUCCESS

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(Encodes()))
    use(provider.get_tracer("a", "1"), trace)
    provider.shutdown()
    return found


def metrics():
    """What three readers of different kinds collect, twice."""
    from opentelemetry import trace  # once the module that is changed can be found
    from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider  # likewise
    from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader  # likewise
    from opentelemetry.sdk.metrics.view import View  # likewise
    from opentelemetry.sdk.trace import TracerProvider  # likewise

    delta = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)
    readers = [InMemoryMetricReader(), InMemoryMetricReader(preferred_temporality=delta)]
    views = [View(instrument_name="viewed", attribute_keys={"a"})]
    provider = MeterProvider(readers, views=views, shutdown_on_exit=False)
    meter = provider.get_meter("m")
    kinds = {
        "counter": meter.create_counter("c").add,
        "up_down": meter.create_up_down_counter("u").add,
        "histogram": meter.create_histogram("h").record,
        "gauge": meter.create_gauge("g").set,
        "viewed": meter.create_counter("viewed").add,
    }
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("sampled")
    found = []
    for turn in range(2):
        for record in kinds.values():
            for amount in (1, 2.5, 7, -1):
                record(amount, {"a": "b", "n": amount > 2})
                record(amount)
                record(amount, {"list": [1, 2]})
                with trace.use_span(span, end_on_exit=False):
                    record(amount, {"a": "b", "n": turn})
        found += [collected(reader) for reader in readers]
    provider.shutdown()
    return found


def collected(reader):
    """What a reader collects, without times."""
    data = json.loads(reader.get_metrics_data().to_json())
    return without_times(data)


def without_times(value):
    """The same without times, ids and the resource, which has an id."""
    if isinstance(value, dict):
        return {
            key: without_times(each)
            for key, each in value.items()
            if "time" not in key and not key.endswith("_id") and key != "resource"
        }
    return [without_times(each) for each in value] if isinstance(value, list) else value


def logs():
    """Records of a handler, of a logger, and with an exception."""
    from opentelemetry.instrumentation.logging.handler import LoggingHandler  # likewise
    from opentelemetry.sdk._logs import LoggerProvider  # likewise
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter  # likewise

    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = logging.getLogger("program")
    logger.addHandler(LoggingHandler(logger_provider=provider))
    for number in range(3):
        logger.warning("number %s", number, extra={"a": number})
        provider.get_logger("direct").emit(body=f"direct {number}", attributes={"b": [number]}, event_name="e")
    try:
        int("no such item")
    except ValueError:
        logger.exception("failed")
    provider.shutdown()
    return [
        [each.log_record.body, dict(each.log_record.attributes), each.log_record.severity_text]
        for each in exporter.get_finished_logs()
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
