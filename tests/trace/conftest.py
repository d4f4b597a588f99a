"""What the tests of the core share: how much to do, a provider that keeps what it exports, programs run apart."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest

# OTEL_FASTPATH_TESTS=heavy does as much as the project promises.
HEAVY = os.environ.get("OTEL_FASTPATH_TESTS") == "heavy"


def pytest_collection_modifyitems(items):
    """What does ten times as much may take longer."""
    if HEAVY:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.timeout(3600))


@pytest.fixture
def amount():
    """`amount(default, heavy)`: how many, under the profile in force."""
    return lambda default, heavy: heavy if HEAVY else default


@pytest.fixture
def switching():
    """Threads take turns as often as the interpreter lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def exporting(instrumented):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Makes providers with room enough in their queue; used in a `with`, gives one and the list of what it exported."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Keeping(SpanExporter):
        def __init__(self, read, got):
            self._read = read
            self._got = got

        def export(self, spans):
            self._got.extend(self._read(span) for span in spans)
            return SpanExportResult.SUCCESS

    @contextmanager
    def make(read=lambda span: span, queue=1 << 20, **settings):
        got = []
        provider = TracerProvider(shutdown_on_exit=False, **settings)
        processor = BatchSpanProcessor(Keeping(read, got), max_queue_size=queue, schedule_delay_millis=3_600_000)
        provider.add_span_processor(processor)
        try:
            yield provider, got
        finally:
            provider.shutdown()

    return make


PRELUDE = """
import gc, logging, os, signal, sys, threading, time
import opentelemetry.sdk.trace.export
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from otel_fastpath.instrumentor import FastpathInstrumentor

FastpathInstrumentor().instrument(core=sys.argv[1])
assert {row.state.value for row in FastpathInstrumentor().status() if row.name.startswith("tracer.")} == {"applied"}
# That a queue is full, and that a context is restored in another one, is not what is looked at.
logging.disable()

class Nothing(SpanExporter):
    def export(self, spans):
        return SpanExportResult.SUCCESS

class Own(SpanProcessor):
    def __init__(self):
        self.ended = 0
    def on_end(self, span):
        self.ended += 1

def provider(*processors):
    made = TracerProvider(shutdown_on_exit=False)
    for each in processors:
        made.add_span_processor(each)
    return made
"""


@pytest.fixture
def in_a_process(core):
    """Runs a program after `PRELUDE` in a process of its own; gives what it printed.

    A program that hangs is ended at the limit, and the test fails with the stack of each of its threads.
    """

    def run(program, *arguments, limit=180):
        watch = f"import faulthandler; faulthandler.dump_traceback_later({limit}, exit=True)\n"
        text = watch + PRELUDE + textwrap.dedent(program)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", text, core, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=limit + 30,
            check=False,
            cwd=Path(__file__).parents[2],
            env={key: value for key, value in os.environ.items() if "START_LINE" in key or not key.startswith("OTEL")},
        )
        assert done.returncode == 0, done.stderr or done.stdout
        assert done.stderr == ""
        return done.stdout

    return run
