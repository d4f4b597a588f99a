"""Starts spans in threads that other spans start, and prints the name of each span with that of its parent as JSON.

python [-X thread_inherit_context=1] tests/interpreters/threads.py stock|py|c
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.instrumentor import FastpathInstrumentor

exporter = InMemorySpanExporter()
provider = TracerProvider(shutdown_on_exit=False)
tracer = provider.get_tracer("threads")
noted: list[object] = []


def note(place: str) -> None:
    """Keep what the current context holds here."""
    current = trace.get_current_span()
    noted.append((place, getattr(current, "name", None), current.is_recording(), dict(baggage.get_all())))


def work(name: str) -> None:
    """A span with a child, in whatever thread."""
    note(f"before {name}")
    with tracer.start_as_current_span(name), tracer.start_as_current_span(f"{name}, child"):
        note(name)
    note(f"after {name}")


def in_thread(function, *arguments, **settings) -> None:
    """Run a function in a thread, to its end."""
    thread = threading.Thread(target=function, args=arguments, **settings)
    thread.start()
    thread.join()


def nested() -> None:
    """A thread that starts another one within a span."""
    with tracer.start_as_current_span("outer thread"):
        in_thread(work, "inner thread")


def after_the_end() -> None:
    """A thread that outlives the span that started it."""
    go = threading.Event()

    def late() -> None:
        go.wait()
        work("late")

    with tracer.start_as_current_span("short"):
        thread = threading.Thread(target=late)
        thread.start()
    go.set()
    thread.join()


def pools() -> None:
    """A pool whose thread is started within one span and used again in another."""
    with ThreadPoolExecutor(1) as pool:
        with tracer.start_as_current_span("first use"):
            pool.submit(work, "first job").result()
        with tracer.start_as_current_span("second use"):
            pool.submit(work, "second job").result()


def attached() -> None:
    """A context that is attached by hand and never detached in the thread."""
    token = context.attach(baggage.set_baggage("key", "value"))
    in_thread(work, "with baggage")
    in_thread(lambda: (context.attach(baggage.set_baggage("key", "other")), work("left attached")))
    note("back")
    context.detach(token)


async def tasks() -> None:
    """What asyncio runs in threads."""
    with tracer.start_as_current_span("task"):
        await asyncio.to_thread(work, "to_thread")
        await asyncio.get_running_loop().run_in_executor(None, partial(work, "executor"))


def main() -> None:
    """Everything, within a span and without one."""
    if sys.argv[1] != "stock":
        FastpathInstrumentor().instrument(core=sys.argv[1])
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for each in (partial(in_thread, work, "thread"), nested, after_the_end, pools, attached):
        each()
        with tracer.start_as_current_span("main"):
            each()
    with tracer.start_as_current_span("main"):
        # A context of its own, which a thread takes in any case: a parameter of Thread since Python 3.14.
        if sys.version_info >= (3, 14):
            in_thread(work, "empty context", context=contextvars.Context())
            in_thread(work, "copied context", context=contextvars.copy_context())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            in_thread(work, "with filters of warnings")
        asyncio.run(tasks())
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    told = [(span.name, names.get(span.parent.span_id, "?") if span.parent else None) for span in spans]
    print(json.dumps({"spans": told, "noted": noted}))  # noqa: T201  # a program that prints


main()
