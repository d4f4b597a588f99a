"""Forks and greenlets, each in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import free_threading
import pytest

ROOT = Path(__file__).parents[2]
PRELUDE = """
import os, sys, threading, time
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from otel_fastpath.instrumentor import FastpathInstrumentor

class Printing(SpanExporter):
    def export(self, spans):
        for span in spans:
            context, parent = span.context, span.parent
            above = f"{parent.span_id:016x}" if parent else "-"
            line = f"{os.getpid()} {span.name} {context.trace_id:032x} {context.span_id:016x} {above}"
            os.write(1, f"{line}\\n".encode())
        return SpanExportResult.SUCCESS

def provider(**settings):
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(Printing(), **{"schedule_delay_millis": 3_600_000, **settings}))
    return made

FastpathInstrumentor().instrument(core=sys.argv[1])
assert {row.state.value for row in FastpathInstrumentor().status() if row.name.startswith("tracer.")} == {"applied"}
"""


class Exported(NamedTuple):
    """One line of what the exporters of a program printed."""

    process: str
    name: str
    trace: str
    span: str
    parent: str


def run(core, program, before=""):
    """Run the program after the prelude; what its exporters printed."""
    text = before + PRELUDE + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore", "-c", text, core],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if "START_LINE" in key or not key.startswith("OTEL")},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [Exported(*line.split()) for line in done.stdout.splitlines()]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


@needs_fork
def test_fork(core):
    """After a fork each process has ids of its own, and exports once what it ended itself."""
    spans = run(
        core,
        """
        made = provider()
        tracer = made.get_tracer("fork")
        tracer.start_span("before").end()
        children = []
        for number in range(3):
            child = os.fork()
            if not child:
                for count in range(5):
                    tracer.start_span(f"child.{number}.{count}").end()
                made.force_flush()
                os._exit(0)
            children.append(child)
        for count in range(5):
            tracer.start_span(f"parent.{count}").end()
        for child in children:
            assert os.waitpid(child, 0)[1] == 0
        made.force_flush()
        """,
    )
    names = ["before", *(f"parent.{count}" for count in range(5))]
    names += [f"child.{number}.{count}" for number in range(3) for count in range(5)]
    assert sorted(each.name for each in spans) == sorted(names)
    assert len({each.trace for each in spans}) == len({each.span for each in spans}) == len(spans)
    assert len({each.process for each in spans}) == 4


@needs_fork
def test_fork_inside_a_span(core):
    """A span that is current at the fork is the parent in both processes, and ends in both."""
    spans = run(
        core,
        """
        made = provider()
        tracer = made.get_tracer("fork")
        with tracer.start_as_current_span("outer"):
            child = os.fork()
            with tracer.start_as_current_span("in.child" if not child else "in.parent"):
                pass
        if child:
            assert os.waitpid(child, 0)[1] == 0
        made.shutdown()
        """,
    )
    outer = [each for each in spans if each.name == "outer"]
    inner = [each for each in spans if each.name != "outer"]
    assert len(outer) == 2
    assert {each.name for each in inner} == {"in.child", "in.parent"}
    assert len({each.span for each in inner}) == 2
    assert {each.parent for each in inner} == {outer[0].span} == {outer[1].span}


@needs_fork
@free_threading.forks_among_threads
def test_fork_while_threads_start_spans(core):
    """A process forked while threads are busy exports its own spans, from its own thread."""
    spans = run(
        core,
        """
        made = provider(max_export_batch_size=4)
        tracer = made.get_tracer("fork")
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                with tracer.start_as_current_span("busy"):
                    pass
                time.sleep(0.001)

        threads = [threading.Thread(target=busy) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(5):
            child = os.fork()
            if not child:
                for _ in range(8):
                    tracer.start_span(f"child.{number}").end()
                deadline = time.monotonic() + 20
                # The batch is full: the process's own thread exports it.
                while made._active_span_processor._span_processors[0]._batch_processor._queue:
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                made.force_flush()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads:
            thread.join()
        made.force_flush()
        """,
    )
    for number in range(5):
        assert sum(each.name == f"child.{number}" for each in spans) == 8
    assert len({each.span for each in spans}) == len(spans)
    assert len({each.process for each in spans if each.name == "busy"}) == 1


@needs_fork
def test_prefork_server(core):
    """Workers forked before the first span, as gunicorn does with preloading, each trace on their own."""
    spans = run(
        core,
        """
        made = provider()
        tracer = made.get_tracer("server")
        workers = []
        for _ in range(3):
            worker = os.fork()
            if not worker:
                for request in range(10):
                    with tracer.start_as_current_span("request"), tracer.start_as_current_span("query"):
                        pass
                made.shutdown()
                os._exit(0)
            workers.append(worker)
        for worker in workers:
            assert os.waitpid(worker, 0)[1] == 0
        """,
    )
    assert len(spans) == 60
    assert len({each.span for each in spans}) == 60
    requests = {each.span: each for each in spans if each.name == "request"}
    for query in (each for each in spans if each.name == "query"):
        assert requests[query.parent].trace == query.trace
        assert requests[query.parent].process == query.process


@pytest.mark.skipif(importlib.util.find_spec("gevent") is None, reason="gevent is not installed")
def test_greenlets(core):
    """Greenlets have their own current span, and a monkey-patched process exports all of their spans."""
    spans = run(
        core,
        """
        import gevent
        from gevent.pool import Pool

        made = provider(max_export_batch_size=16)
        tracer = made.get_tracer("gevent")

        def work(number):
            with tracer.start_as_current_span(f"outer.{number}") as outer:
                gevent.sleep(0)
                for count in range(3):
                    with tracer.start_as_current_span(f"inner.{number}.{count}") as inner:
                        gevent.sleep(0.001 * (number % 3))
                        assert trace.get_current_span() is inner
                    assert trace.get_current_span() is outer
            assert trace.get_current_span() is trace.INVALID_SPAN
            return True

        with tracer.start_as_current_span("main"):
            assert all(Pool(20).map(work, range(100)))
            assert gevent.joinall([gevent.spawn(work, 1000)], raise_error=True)
        made.shutdown()
        """,
        before="from gevent import monkey; monkey.patch_all()\n",
    )
    assert len(spans) == 101 * 4 + 1
    outer = {each.span: each.name.partition(".")[2] for each in spans if each.name.startswith("outer")}
    for each in spans:
        if each.name.startswith("inner"):
            assert outer[each.parent] == each.name.split(".")[1]
