"""The layers over hooks: calls are passed on as they were, counted, and some are timed without the host's part."""

import asyncio
import functools
import gc
import inspect
import random
import weakref

import pytest

from otel_fastpath import compiled
from otel_fastpath.patching.swapping.swap import Swap
from otel_fastpath.shedding import layer, timed_hooks, watches
from otel_fastpath.shedding.watches import TimeWatch, standing_in


@pytest.fixture(autouse=True)
def chosen(core):
    """The layer in Python and the one in C."""
    compiled.choose(core)
    yield
    compiled.choose(None)


class Clock:
    """A clock that only goes on when code says that it takes time."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        """The time in nanoseconds."""
        return self.now

    def burn(self, milliseconds):
        """Take this much time."""
        self.now += milliseconds * 1_000_000


@pytest.fixture
def burn(monkeypatch):
    """`burn(milliseconds)`: the only thing that takes time."""
    clock = Clock()
    monkeypatch.setattr(watches, "perf_counter_ns", clock)
    monkeypatch.setattr(watches._crossing, "cost", 0.0)
    return clock.burn


def laid(function):
    """The function with a layer, whose timed calls do the same."""
    return layer.lay(function, lambda args, kwargs: function(*args, **kwargs), 3)


def test_calls_are_passed_on_and_counted():
    """Arguments, results and exceptions, positional and by name, also of the call that is timed."""

    def hook(self, *args, **kwargs):
        """Do something."""
        if "error" in kwargs:
            raise kwargs["error"]
        return self, args, kwargs

    made, counter = laid(hook)
    kind = type("Kind", (), {"hook": made})
    one = kind()
    for left in (2, 1, 0, -1):
        assert one.hook(1, "b", key=2) == (one, (1, "b"), {"key": 2})
        assert counter.left == left
    assert kind.hook(one) == (one, (), {})
    error = ValueError("no")
    with pytest.raises(ValueError, match="no") as raised:
        one.hook(error=error)
    assert raised.value is error


def test_a_layer_looks_as_what_it_is_over():
    """Its name, signature and documentation, and whether it is a coroutine function, which servers look at."""

    def hook(a, b=None, *, c=1):
        """Do something."""

    async def steps(a):
        return a

    assert inspect.signature(laid(hook)[0]) == inspect.signature(hook)
    assert (laid(hook)[0].__doc__, laid(hook)[0].__name__) == ("Do something.", "hook")
    assert laid(hook)[0].__wrapped__ is hook
    assert not inspect.iscoroutinefunction(laid(hook)[0])
    made, _ = laid(steps)
    one = type("Kind", (), {"made": made})()
    assert inspect.iscoroutinefunction(made)
    assert inspect.iscoroutinefunction(type(one).made)
    assert inspect.iscoroutinefunction(one.made)
    assert [asyncio.run(made(5)) for _ in range(4)] == [5] * 4


def test_a_layer_can_be_taken_off_and_made_inert():
    """The very same function comes back; below another's wrapper, calls are passed on and not counted."""

    def hook():
        return 1

    owner = type("Owner", (), {"hook": staticmethod(hook)})
    owner.hook = hook
    swap = Swap(owner, "hook")
    made, counter = laid(hook)
    swap.put(made)
    assert owner.hook() == 1
    assert swap.take_off()
    assert vars(owner)["hook"] is hook

    swap = Swap(owner, "hook")
    made, counter = laid(hook)
    swap.put(made)
    owner.hook = functools.partial(made)
    assert swap.take_off()
    left = counter.left
    assert owner.hook() == 1
    assert counter.left == left


def test_a_layer_is_collected():
    """It refers to itself, by the switch that makes it inert."""

    class Kept:
        def __call__(self):
            return 1

    kept = Kept()
    gone = weakref.ref(kept)
    made, counter = layer.lay(kept, print, 3)
    assert made() == 1
    del made, counter, kept
    gc.collect()
    assert gone() is None


def test_one_of_1024_calls_is_timed():
    """At random, so that a pattern of the host's does not matter; more until the price is known; the count is exact."""
    # One in 600 draws would miss a remainder below.
    random.seed(1)
    timed = []

    def time_it(hook, args, _kwargs):
        timed.append(args)
        hook.add(1000.0)

    hook = timed_hooks.CountedHook(abs, time_it)
    for number in range(264_000):
        hook.layer(number)
    first = [args for args in timed if args[0] < 8_192]
    assert hook.calls == 264_000
    assert len(first) == pytest.approx(64, abs=32)
    assert len(timed) == pytest.approx(64 + 250, abs=70)
    assert len({args[0] % 32 for args in timed}) == 32
    assert hook.price() == 1000
    assert hook.take() == 264_000
    assert hook.take() == 0
    hook.renew()
    before = len(timed)
    for number in range(10_240):
        hook.layer(number)
    assert len(timed) - before > 40


def test_interrupted_calls_do_not_count():
    """A thread that lost the processor for a while."""
    hook = timed_hooks.CountedHook(lambda: None, None)
    for nanoseconds in (100, 110, 90, 3_000_000, 100):
        hook.add(nanoseconds)
    assert hook.price() == 100


def test_the_hosts_part_is_not_timed(burn):
    """Neither what a hook calls of the host, nor what it awaits, nor other tasks meanwhile."""
    host = standing_in(lambda: burn(3))

    @standing_in
    async def host_steps():
        burn(3)
        await asyncio.sleep(0.01)
        burn(3)

    async def other_task():
        burn(7)

    def hook():
        burn(1)
        host()
        burn(1)

    async def hook_steps():
        burn(1)
        await host_steps()
        burn(1)

    async def main():
        watch = TimeWatch()
        busy = asyncio.ensure_future(other_task())
        await watch.run(hook_steps, (), {}, on=True)
        await busy
        return watch.total()

    watch = TimeWatch()
    watch.call(hook, (), {}, on=True)
    assert watch.total() == 2e6
    assert asyncio.run(main()) == 2e6
    assert watches._current.watch is None


def test_a_hook_inside_another_is_timed_apart(burn):
    """Each nanosecond belongs to one watch."""
    outer, inner = TimeWatch(), TimeWatch()

    def work():
        burn(1)
        inner.call(burn, (3,), {}, on=True)
        burn(1)

    outer.call(work, (), {}, on=True)
    assert (outer.total(), inner.total()) == (2e6, 3e6)


class Waiting:
    """Waits forever."""

    def __await__(self):
        """Yield to the loop once."""
        yield "awaited"


def test_cancelling_and_closing_reach_the_hosts_coroutine():
    """A timed call is cancelled as any other."""
    seen = []

    async def host():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            seen.append("left")

    async def waits():
        try:
            await Waiting()
        finally:
            seen.append("closed")

    async def main():
        watch = TimeWatch()
        task = asyncio.ensure_future(
            timed_hooks.await_counted(watch.run(watch.of_host(host), (), {}, on=True), watch, hook)
        )
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    hook = timed_hooks.CountedHook(lambda: None, None)
    asyncio.run(main())
    assert seen == ["cancelled", "left"]
    coroutine = timed_hooks.await_counted(TimeWatch().run(waits, (), {}, on=True), TimeWatch(), hook)
    assert coroutine.send(None) == "awaited"
    coroutine.close()
    assert seen == ["cancelled", "left", "closed"]


def test_a_scope_that_is_timed_is_used_like_any_other(burn):
    """As a context manager and as a decorator; exceptions pass through it."""
    left = []

    class Manager:
        extra = 5

        def __enter__(self):
            burn(1)
            return "span"

        def __exit__(self, *raised):
            left.append(raised[0])
            burn(1)

        def __call__(self, function):
            return function

    hook = timed_hooks.CountedHook(Manager, None)
    scope = timed_hooks._time_manager(Manager, hook, (), {})
    with scope as span:
        burn(5)
        assert span == "span"
    assert hook.price() == 2e6
    with pytest.raises(ValueError, match="no"), timed_hooks._time_manager(Manager, hook, (), {}):
        raise ValueError("no")
    assert left == [None, ValueError]
    assert scope(burn) is burn
    assert scope.extra == 5
