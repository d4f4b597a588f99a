"""Tasks and threads that share a loop: each has its own current span, and inherits the one it was made under."""

from __future__ import annotations

import asyncio
import contextvars
import random
import sys

from opentelemetry import context as context_api
from opentelemetry import trace


def _read(span):
    return span.name, span.context, span.parent


def _parents(got):
    """The name of each span's parent."""
    names = {context.span_id: name for name, context, _ in got}
    return {name: names.get(parent.span_id) if parent else None for name, _, parent in got}


async def _branch(tracer, name, depth):
    with tracer.start_as_current_span(name) as span:
        await asyncio.sleep(0)
        assert trace.get_current_span() is span
        if depth:
            tasks = [asyncio.create_task(_branch(tracer, f"{name}.{number}", depth - 1)) for number in range(3)]
            for task in asyncio.as_completed(tasks):
                await task
                assert trace.get_current_span() is span
        await asyncio.sleep(random.random() / 1000)  # noqa: S311  # no secret
        assert trace.get_current_span() is span


def test_a_tree_of_tasks(exporting, caplog):
    """A tree of tasks gives the same tree of spans, whatever order they run in."""
    with exporting(_read) as (provider, got):
        asyncio.run(_branch(provider.get_tracer("tasks"), "0", 4))
    assert len(got) == sum(3**depth for depth in range(5))
    assert _parents(got) == {name: name.rpartition(".")[0] or None for name, _, _ in got}
    assert caplog.records == []


def test_work_in_threads(exporting):
    """`asyncio.to_thread` takes the current span along; a plain executor where new threads inherit the context."""
    with exporting(_read) as (provider, got):
        tracer = provider.get_tracer("tasks")

        def work(name):
            with tracer.start_as_current_span(name):
                return trace.get_current_span().name

        async def main():
            with tracer.start_as_current_span("main"):
                loop = asyncio.get_running_loop()
                names = await asyncio.gather(
                    *(asyncio.to_thread(work, f"to_thread.{number}") for number in range(20)),
                    *(loop.run_in_executor(None, work, f"executor.{number}") for number in range(20)),
                )
                assert trace.get_current_span().name == "main"
                return names

        names = asyncio.run(main())
    parents = _parents(got)
    inherited = "main" if getattr(sys.flags, "thread_inherit_context", 0) else None
    assert all(parents[name] == ("main" if name.startswith("to_thread") else inherited) for name in names)


def test_contexts_are_not_changed(exporting):
    """A copied context keeps the span it was copied under, also when that has ended."""
    with exporting(_read) as (provider, got):
        tracer = provider.get_tracer("tasks")
        with tracer.start_as_current_span("outer") as outer:
            kept = contextvars.copy_context()
            inside = context_api.get_current()
        assert kept.run(trace.get_current_span) is outer
        kept.run(lambda: tracer.start_span("late").end())
        assert trace.get_current_span(inside) is outer
        assert trace.get_current_span() is trace.INVALID_SPAN
    assert _parents(got) == {"outer": None, "late": "outer"}


def test_a_task_that_outlives_its_span(exporting, caplog):
    """A task started inside a span goes on under it when the span has ended."""
    with exporting(_read) as (provider, got):
        tracer = provider.get_tracer("tasks")

        async def later(started):
            await started.wait()
            with tracer.start_as_current_span("later"):
                pass

        async def main():
            started = asyncio.Event()
            with tracer.start_as_current_span("main"):
                task = asyncio.create_task(later(started))
            started.set()
            await task

        asyncio.run(main())
    assert _parents(got) == {"main": None, "later": "main"}
    assert caplog.records == []
