"""Instruments and works in one interpreter after the other, and prints a line of JSON for each.

    python tests/interpreters/subinterpreters.py main|shared|own|concurrent ...

`main` is the interpreter that the process starts with, `shared` a new one that shares its lock, `own` a new one with a
lock of its own, `concurrent` one of `concurrent.interpreters` (since Python 3.14).
"""
# A program that prints.

from __future__ import annotations

import sys

WORK = """
import gc, json, logging, sys
from otel_fastpath import compiled
from otel_fastpath.instrumentor import FastpathInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

logging.disable()
instrumentor = FastpathInstrumentor()
instrumentor.instrument(exceptions="raised")
exporter = InMemorySpanExporter()
provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("work")
reader = InMemoryMetricReader()
counter = MeterProvider([reader], shutdown_on_exit=False).get_meter("work").create_counter("counter")
for number in range(100):
    with tracer.start_as_current_span("parent", attributes={"number": number}) as parent:
        counter.add(1, {"a": 1})
        with tracer.start_as_current_span("child") as child:
            child.set_attribute("key", "value")
        try:
            int("x")
        except ValueError as error:
            parent.record_exception(error)
spans = exporter.get_finished_spans()
gc.collect()
states = {row.name: row.state.value for row in instrumentor.status()}
implementation, why = compiled.implementation()
[of_resource] = reader.get_metrics_data().resource_metrics
print(json.dumps({
    "implementation": implementation,
    "why": why,
    "applied": states["tracer.start_span"],
    "exceptions": [states["exceptions"], "otel_fastpath.exceptions.callbacks_c" in sys.modules],
    "spans": len(spans),
    "children": sum(a.parent.span_id == b.context.span_id for a, b in zip(spans[::2], spans[1::2])),
    "events": sum(len(span.events) for span in spans),
    "counted": of_resource.scope_metrics[0].metrics[0].data.data_points[0].value,
}), flush=True)
instrumentor.uninstrument()
"""


def run(kind: str) -> None:
    """Work in an interpreter of this kind."""
    if kind == "main":
        exec(WORK, {"__name__": "work"})  # noqa: S102  # as the others do
        return
    program = f"import sys\nsys.path[:] = {sys.path!r}\n{WORK}"
    if kind == "concurrent":
        from concurrent import interpreters

        interpreter = interpreters.create()
        interpreter.exec(program)
        interpreter.close()
        return
    try:
        import _interpreters as internal
    except ImportError:
        import _xxsubinterpreters as internal
    if hasattr(internal, "new_config"):
        made = internal.create("isolated" if kind == "own" else "legacy")
    else:
        # Before Python 3.12, `isolated` is about threads and processes, and every interpreter shares the lock.
        made = internal.create(isolated=kind == "own")
    failure = internal.run_string(made, program)
    if failure is not None:
        raise SystemExit(str(failure))
    internal.destroy(made)


for each in sys.argv[1:]:
    run(each)
