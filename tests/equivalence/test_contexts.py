"""Spans made current across contexts: generators, tasks, other contexts, scopes that are left in the wrong place."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import re
from functools import partial
from unittest import mock

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from sidebyside.compare import assert_same
from sidebyside.setups import Setup


def _scope(world, how, name="scope"):
    if how == "use_span":
        return trace.use_span(world.tracer.start_span(name), end_on_exit=True)
    return world.tracer.start_as_current_span(name)


def _without_addresses(happenings):
    return [re.sub("0x[0-9a-f]+", "", str(each)) for each in happenings]


@pytest.fixture
def same(fast):
    """Compare; what a token looks like has addresses in it, which are no difference."""
    del fast

    def compare(scenario, setup=None):
        return assert_same(scenario, setup, read=_without_addresses)

    return compare


HOW = pytest.mark.parametrize("how", ["start_as_current_span", "use_span"])


@pytest.mark.proves("trace.use_span")
@HOW
def test_left_in_another_context(same, how):
    """Leaving a scope in a context other than the one it was entered in is logged, and the span ends."""

    def scenario(world):
        scope = _scope(world, how)
        contextvars.copy_context().run(scope.__enter__)
        world.told(trace.get_current_span())
        scope.__exit__(None, None, None)
        world.told(trace.get_current_span())

    assert any("Failed to detach context" in each for each in same(scenario))


@HOW
def test_left_out_of_order(same, how):
    """Scopes that overlap instead of nesting leave behind the context that stock leaves."""

    def scenario(world):
        first, second = _scope(world, how, "first"), _scope(world, how, "second")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        world.told(trace.get_current_span())
        second.__exit__(None, None, None)
        world.told(trace.get_current_span())

    same(scenario)


@HOW
def test_left_twice(same, how):
    """Leaving a scope a second time raises and changes nothing."""

    def scenario(world):
        scope = _scope(world, how)
        with scope:
            pass
        try:
            scope.__exit__(None, None, None)
        except Exception as error:  # which one is compared
            world.happened(type(error).__name__)
        else:
            world.happened("nothing raised")
        world.told(trace.get_current_span())

    same(scenario)


@HOW
@pytest.mark.parametrize("finish", ["exhaust", "close", "throw", "drop"])
def test_generator(same, how, finish):
    """A generator suspended inside a scope keeps its span current for whoever runs it, until it is finished off."""

    def scenario(world):
        def generate():
            with _scope(world, how, "in generator"):
                yield trace.get_current_span()
                yield trace.get_current_span()

        with world.tracer.start_as_current_span("around"):
            generator = generate()
            world.told(next(generator), trace.get_current_span())
            world.tick()
            if finish == "exhaust":
                world.told(list(generator))
            elif finish == "close":
                generator.close()
            elif finish == "throw":
                world.attempt("throw", partial(generator.throw, LookupError("thrown in")))
            generator = None
            gc.collect()
            world.told(trace.get_current_span())
        world.told(trace.get_current_span())

    same(scenario)


@HOW
def test_generator_closed_elsewhere(same, how):
    """A generator that is closed in another context than it ran in logs the failed detach."""

    def scenario(world):
        def generate():
            with _scope(world, how, "in generator"):
                yield

        generator = generate()
        contextvars.copy_context().run(next, generator)
        generator.close()
        world.told(trace.get_current_span())

    assert any("Failed to detach context" in each for each in same(scenario))


@HOW
@pytest.mark.parametrize("entered", [True, False])
def test_scope_that_is_dropped(same, how, entered):
    """A scope that was entered and is collected without being left restores the context and ends the span."""

    def scenario(world):
        scope = _scope(world, how)
        if entered:
            scope.__enter__()
        world.told(trace.get_current_span())
        world.tick()
        del scope
        gc.collect()
        world.told(trace.get_current_span())

    same(scenario, Setup(processors=("light", "simple")))


@HOW
def test_scope_that_is_dropped_elsewhere(same, how):
    """One that is collected in another context logs the failed detach and ends the span."""

    def scenario(world):
        scopes = [_scope(world, how)]
        contextvars.copy_context().run(scopes[0].__enter__)
        scopes.clear()
        gc.collect()

    assert any("Failed to detach context" in each for each in same(scenario))


@HOW
def test_asyncio_tasks(same, how):
    """Tasks have their own current span, inherited when they are made."""

    def scenario(world):
        async def work(name, steps):
            with _scope(world, how, name) as span:
                for _ in range(steps):
                    await asyncio.sleep(0)
                    world.told(name, trace.get_current_span() is span)
                with world.tracer.start_as_current_span(f"{name}, below"):
                    await asyncio.sleep(0)

        async def main():
            with _scope(world, how, "main"):
                first = asyncio.create_task(work("first", 1))
                await asyncio.gather(work("second", 2), first)
            await work("after", 1)

        asyncio.run(main())
        world.told(trace.get_current_span())

    same(scenario)


@HOW
def test_cancelled_task(same, how):
    """Cancellation passes through: it is no error, and the span ends."""

    def scenario(world):
        async def work():
            with _scope(world, how, "cancelled"):
                await asyncio.sleep(60)

        async def main():
            task = asyncio.create_task(work())
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                world.happened("cancelled")

        asyncio.run(main())

    same(scenario)


@HOW
@pytest.mark.parametrize("finish", ["break", "exhaust", "aclose", "raise"])
def test_async_generator(same, how, finish):
    """An async generator with a scope inside, left early or late, by its consumer or by the loop's finaliser."""

    def scenario(world):
        async def generate():
            with _scope(world, how, "in async generator"):
                for number in range(3):
                    yield number
                    await asyncio.sleep(0)

        async def consume():
            generator = generate()
            async for number in generator:
                world.told(number, trace.get_current_span())
                if finish == "break" and number == 1:
                    break
                if finish == "raise" and number == 1:
                    raise LookupError("the consumer failed")
                if finish == "aclose" and number == 1:
                    await generator.aclose()
            world.told(trace.get_current_span())

        async def main():
            await asyncio.gather(asyncio.create_task(consume()), return_exceptions=True)
            gc.collect()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        asyncio.run(main())

    same(scenario)


class _Counting(ContextVarsRuntimeContext):
    """A runtime context of the user's own."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def attach(self, context):
        self.calls.append("attach")
        return super().attach(context)

    def detach(self, token):
        self.calls.append("detach")
        super().detach(token)

    def get_current(self):
        self.calls.append("get_current")
        return super().get_current()


def test_runtime_context_of_the_users_own(same):
    """Another runtime context is used through its own methods: attached and detached as often as by stock."""

    def scenario(world):
        runtime = _Counting()
        with mock.patch.object(context_api, "_RUNTIME_CONTEXT", runtime):
            with world.tracer.start_as_current_span("outer"), world.tracer.start_as_current_span("inner") as inner:
                world.told(trace.get_current_span() is inner, inner.parent)
            with trace.use_span(inner):
                world.told(trace.get_current_span() is inner)
        world.told([call for call in runtime.calls if call != "get_current"])

    same(scenario)


def test_broken_runtime_context(same):
    """One whose detach raises is logged, and the span ends."""

    def scenario(world):
        runtime = _Counting()
        runtime.detach = lambda _token: 1 / 0
        with (
            mock.patch.object(context_api, "_RUNTIME_CONTEXT", runtime),
            world.tracer.start_as_current_span("span"),
        ):
            pass

    assert any("Failed to detach context" in each for each in same(scenario))
