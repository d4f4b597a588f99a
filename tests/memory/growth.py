"""A program: how much memory long names take, in a process of its own.

    python growth.py PATH CORE LENGTH COUNT

prints how many megabytes the process grew by, after the first names.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import metric_exporter, trace_exporter
from opentelemetry.metrics import get_meter
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from otel_fastpath.instrumentor import FastpathInstrumentor

# So many names fill what is filled for good.
FIRST = 50
DELTA = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)
SAMPLED = trace.set_span_in_context(
    trace.NonRecordingSpan(trace.SpanContext(5, 6, is_remote=True, trace_flags=trace.TraceFlags(1)))
)
CONTEXT = trace.SpanContext(5, 6, is_remote=True)


class _Encoded(SpanExporter):
    def export(self, spans):
        # As the OTLP exporter, but nothing is sent.
        assert trace_exporter.encode_spans(spans).SerializePartialToString()
        return SpanExportResult.SUCCESS


def _traced():
    """A provider, and what has everything exported."""
    provider = TracerProvider(shutdown_on_exit=False)
    processor = BatchSpanProcessor(_Encoded(), max_export_batch_size=64)
    provider.add_span_processor(processor)
    return provider, processor.force_flush


def _names_of_spans(name):
    tracer, flush = _names_of_spans.tracer, _names_of_spans.flush
    with tracer.start_as_current_span(name) as span:
        span.add_event(name)
    flush()


def _keys(name):
    links = [trace.Link(CONTEXT, {name: 2, "k": name})]
    with _names_of_spans.tracer.start_as_current_span("span", attributes={name: 1, "long": name}, links=links) as span:
        span.set_attribute(name + "f", 0.5)
        span.add_event("event", {name: "x", name + "f": 0.5, "long": name})
    _names_of_spans.flush()


def _scopes(name):
    # A provider keeps its tracers for ever.
    scope = InstrumentationScope(name, schema_url=name)
    spans = [ReadableSpan("span", CONTEXT, resource=Resource({name: "x"}), instrumentation_scope=scope)]
    assert trace_exporter.encode_spans(spans).SerializePartialToString()


def metered(temporality, **view):
    """The methods that record, and what has everything collected and encoded."""
    reader = InMemoryMetricReader(preferred_temporality=temporality)
    views = [View(instrument_name="*", **view)]
    meter = MeterProvider([reader], shutdown_on_exit=False, views=views).get_meter("growth")

    def flush():
        assert metric_exporter.encode_metrics(reader.get_metrics_data()).SerializePartialToString()

    return meter.create_histogram("histogram").record, meter.create_counter("counter").add, flush


def _recorded(record, add, name):
    attributes = {"route": "/a", "long": name, name[1:]: 1}
    for _ in range(2):
        record(1, attributes, SAMPLED)
        add(1, attributes, SAMPLED)


def _taken_away(name, state=[]):  # noqa: B006  # made by the first call
    if not state:
        state += metered({}, attribute_keys={"route"})
    _recorded(state[0], state[1], name)
    if name.endswith("0"):
        state[2]()


def _beyond_a_limit(name, state=[]):  # noqa: B006
    if not state:
        state += metered(DELTA, aggregation_cardinality_limit=4)
    _recorded(state[0], state[1], name)
    if name.endswith("0"):
        state[2]()


def _models(name, state=[]):  # noqa: B006
    from otel_fastpath.genai.openai.telemetry import CaptureSettings, OpenAITelemetry, TelemetryScope

    if not state:
        state.append(OpenAITelemetry(TelemetryScope("growth", "1"), CaptureSettings(), {}))
    telemetry, url = state[0], object()
    found = telemetry.target(("post", "/chat/completions", id(url), object, name), url)
    found.series({"gen_ai.response.model": name + "-2"}, ("gen_ai.response.model", "error.type"))
    few = telemetry.target(("post", "/chat/completions", id(url), object, "few"), url)
    few.series({"gen_ai.response.model": name}, ("gen_ai.response.model", "error.type"))


def _paths(name, words=("models", "files", "chat")):
    from otel_fastpath.genai.openai.endpoints import endpoint_of

    number = int(name.lstrip("n"))
    wanted = [words[number // 3**place % 3] for place in range(9)]
    endpoint_of("post", "/" + "/".join(wanted) + "/workload_identity_providers" * (len(name) // 28))


def _exceptions(name):
    kind = type(name, (Exception,), {})
    with contextlib.suppress(kind):
        raise kind
    if name.endswith("00"):
        gc.collect()


def _exception_sites(name):
    code = compile("def fail():\n    raise ValueError", name, "exec")
    namespace = {}
    exec(code, namespace)  # noqa: S102  # a function of a file with this name
    with contextlib.suppress(ValueError):
        namespace["fail"]()


def _series_of_errors(name, state=[]):  # noqa: B006
    from otel_fastpath.wrapping.call import CallDurations, Failure

    if not state:
        state += [get_meter("growth").create_histogram("histogram"), []]
    if len(state[1]) * 20 <= int(name.lstrip("n")):
        state[1].append(CallDurations(state[0], {}))
    state[1][-1].record_failed(1.0, Failure(name))


PATHS = {
    each.__name__[1:]: each
    for each in (
        _names_of_spans,
        _keys,
        _scopes,
        _taken_away,
        _beyond_a_limit,
        _models,
        _paths,
        _series_of_errors,
        _exceptions,
        _exception_sites,
    )
}


def _megabytes():
    """What the process occupies."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 1e6


def main(path, core, length, count):
    """Take the path with so many names of so many characters."""
    # Raise sites are told apart where that is asked for.
    os.environ["OTEL_FASTPATH_EXCEPTIONS"] = "raised,code,python"
    if core != "stock":
        FastpathInstrumentor().instrument(core=core, telemetry="full")
    _names_of_spans.provider, _names_of_spans.flush = _traced()
    _names_of_spans.tracer = _names_of_spans.provider.get_tracer("growth")
    take = PATHS[path]
    for number in range(FIRST):
        take(f"{number:n>{length}}")
    before = _megabytes()
    for number in range(FIRST, count):
        take(f"{number:n>{length}}")
    sys.stdout.write(f"{_megabytes() - before}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
