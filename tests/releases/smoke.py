"""Runs in the environment of an installed wheel, on every platform: what the wheel promises is there and works.

    python tests/releases/smoke.py [compiled|pure]

It needs nothing but the package and its dependencies. It fails unless the named build is installed (default:
compiled), and unless spans made with the package have the names, attributes, events and parents of spans made without
it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import otel_fastpath
from otel_fastpath import FastpathInstrumentor, compiled

SOURCES = Path(__file__).resolve().parents[2]


class SmokeError(Exception):
    """The wheel does not do what it promises."""


def telemetry(processor_class: type) -> list[object]:
    """What an exporter gets of two spans, without ids and times."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor_class(exporter))
    tracer = provider.get_tracer("smoke", "1")
    with tracer.start_as_current_span("outer", attributes={"text": "a", "number": 1}) as outer:
        outer.set_attribute("list", [1.5, 2.5])
        outer.add_event("event", {"key": True})
        try:
            with tracer.start_as_current_span("inner"):
                int("not a number")
        except ValueError:
            outer.update_name("renamed")
    provider.shutdown()
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    return [
        (
            span.name,
            dict(span.attributes),
            [(event.name, sorted(event.attributes)) for event in span.events],
            span.status.status_code,
            span.parent and names[span.parent.span_id],
        )
        for span in spans
    ]


def check(build: str) -> None:
    """Check the installed package.

    Raises:
        SmokeError: Something is not as promised.
    """
    place = Path(otel_fastpath.__file__).resolve().parent
    if place.parent == SOURCES:
        raise SmokeError(f"{place} is the source tree, not an installed wheel")
    expected = {"compiled": compiled.COMPILED, "pure": compiled.PURE}[build]
    found, why_not = compiled.implementation()
    if found != expected:
        raise SmokeError(f"the {build} build was expected, found {found!r} ({why_not})")
    if build == "compiled":
        for name in compiled.TWINS:
            # These import the instrumentation that they are for, which is not installed here.
            if not name.startswith("http."):
                importlib.import_module(f"otel_fastpath.{name}")
    for processor in (SimpleSpanProcessor, BatchSpanProcessor):
        before = telemetry(processor)
        FastpathInstrumentor().instrument()
        try:
            during = telemetry(processor)
        finally:
            FastpathInstrumentor().uninstrument()
        if not before == during == telemetry(processor):
            raise SmokeError(f"{processor.__name__}: {during} was exported, stock exports {before}")
    line = subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "--version"], capture_output=True, text=True, check=True
    ).stdout
    if not line.startswith(f"otel-fastpath {otel_fastpath.__version__}, "):
        raise SmokeError(f"--version printed {line!r}")
    sys.stdout.write(line)


if __name__ == "__main__":
    check(sys.argv[1] if len(sys.argv) > 1 else "compiled")
