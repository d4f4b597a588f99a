"""What spans and measurements cost on a free-threaded build: beside the build with the lock, and in two threads.

    python tests/free_threaded/costs.py FREE_THREADED_PYTHON [--rounds 15]

Each round runs both interpreters once, one after the other, and counts CPU time, not the time that passes. A line has
the medians of the rounds, and the median of each round's ratio.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

SPANS, WARM_UP = 20_000, 2_000


def spans():
    """A tracer's work: a span with two attributes, made current."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Nothing(SpanExporter):
        """Drops what it gets."""

        def export(self, spans):  # noqa: ARG002  # the interface's name
            """Drop it."""
            return SpanExportResult.SUCCESS

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Nothing(), max_queue_size=4096, schedule_delay_millis=10))
    tracer = provider.get_tracer("costs")

    def work(count):
        for number in range(count):
            with tracer.start_as_current_span("span", attributes={"a": "text", "b": number}):
                pass

    return work


def measurements():
    """A meter's work: an amount with one attribute."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    meter = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False).get_meter("costs")
    counter = meter.create_counter("counter")

    def work(count):
        for _ in range(count):
            counter.add(1, {"route": "/"})

    return work


def contexts():
    """A part of a tracer's work that is CPython's and the API's alone: a context is attached and detached."""
    from opentelemetry.context import Context, attach, detach

    def work(count):
        for _ in range(count):
            detach(attach(Context()))

    return work


def seconds(work, threads):
    """The CPU seconds that each call of the work takes in so many threads."""
    barrier, used = threading.Barrier(threads), []

    def run():
        work(WARM_UP)
        barrier.wait()
        begin = time.thread_time()
        work(SPANS)
        used.append(time.thread_time() - begin)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return sum(used) / threads / SPANS


def measure():
    """Print what one process finds, as JSON."""
    import logging

    from otel_fastpath.instrumentor import FastpathInstrumentor

    logging.disable()
    FastpathInstrumentor().instrument()
    found = {}
    for make in (spans, measurements, contexts):
        for threads in (1, 2):
            found[f"{make.__name__}, {threads}"] = seconds(make(), threads)
    print(json.dumps(found))


def main():
    """Compare the interpreters and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="?", help="a free-threaded interpreter with this project")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    if given.python is None:
        measure()
        return
    rounds = []
    for _ in range(given.rounds):
        found = []
        for python in (sys.executable, given.python):
            environ = {**os.environ, "OTEL_FASTPATH_CORE": "c"}
            ran = subprocess.run([python, __file__], capture_output=True, text=True, check=True, env=environ)
            found.append(json.loads(ran.stdout))
        rounds.append(found)

    def line(name, base, other):
        """Two figures of each round: (interpreter, name)."""
        before, after = ([each[side][key] for each in rounds] for side, key in (base, other))
        ratio = statistics.median(one / two for one, two in zip(after, before, strict=True))
        print(
            f"{name:42} {statistics.median(before) * 1e6:8.2f} us {statistics.median(after) * 1e6:8.2f} us {ratio:6.2f}"
        )

    print(f"{'':42} {'before':>11} {'after':>11}  ratio   {given.rounds} rounds")
    for kind in ("spans", "measurements", "contexts"):
        line(f"{kind}: with the lock, free-threaded", (0, f"{kind}, 1"), (1, f"{kind}, 1"))
        line(f"{kind}: free-threaded, 1 and 2 threads", (1, f"{kind}, 1"), (1, f"{kind}, 2"))


if __name__ == "__main__":
    main()
