"""Scenarios made ready: sync and async, with a set-up and without, and what is said when one cannot be run."""

from __future__ import annotations

import asyncio

import pytest

from otel_fastpath.tools.budget.counting.callables import Running, ScenarioError, async_nothing, load, nothing


def test_a_block_runs_so_many_calls():
    """And gives the time that they took."""
    calls = []
    with Running(nothing, lambda: calls.append(1)) as running:
        before = len(calls)
        taken = running.instrumented.block(7)

    assert len(calls) - before == 7
    assert taken > 0
    assert not running.is_async


def test_async_callables_run_in_one_loop():
    """The set-up, its end and every call see the same event loop."""
    loops = set()

    async def setup():
        loops.add(asyncio.get_running_loop())
        yield "given"
        loops.add(asyncio.get_running_loop())
        loops.add("ended")

    async def call(given):
        assert given == "given"
        loops.add(asyncio.get_running_loop())

    async def bare(_given):
        pass

    with Running(bare, call, setup) as running:
        running.instrumented.block(3)
        assert running.is_async

    assert "ended" in loops
    assert len(loops) == 2


@pytest.mark.parametrize("kind", ["function", "generator", "async function"])
def test_what_a_set_up_gives_is_given_to_both(kind):
    """Returned, yielded or awaited; nothing is given where it gives nothing."""
    seen = []

    def function():
        return 5

    def generator():
        yield 5
        seen.append("end")

    async def coroutine():
        return 5

    setup = {"function": function, "generator": generator, "async function": coroutine}[kind]
    with Running(seen.append, seen.append, setup) as running:
        running.bare.block(1)

    assert seen == [5, 5, 5, "end"][: 4 if kind == "generator" else 3]
    with Running(nothing, nothing, lambda: None) as running:
        running.bare.block(1)


@pytest.mark.parametrize(
    ("bare", "instrumented", "key", "message"),
    [
        (nothing, async_nothing, "instrumented", "only instrumented is async"),
        (async_nothing, nothing, "bare", "only bare is async"),
        (nothing, lambda: 1 / 0, "", "instrumented raised ZeroDivisionError: division by zero ("),
    ],
)
def test_what_cannot_be_measured_says_why(bare, instrumented, key, message):
    """One line, with the part of the declaration where that is to blame."""
    with pytest.raises(ScenarioError) as caught:
        Running(bare, instrumented).__enter__()

    assert message in str(caught.value)
    assert caught.value.key == key


def test_a_set_up_that_fails_is_named():
    """Its error is in the line, with the place it was raised at."""

    def setup():
        raise OSError("no database\nat all")

    with pytest.raises(ScenarioError, match=r"^setup raised OSError: no database at all \(.*test_callables.py:\d+\)$"):
        Running(nothing, nothing, setup).__enter__()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no_such_module_here:f", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("textwrap:no_such", "AttributeError: module 'textwrap' has no attribute 'no_such'"),
        ("json:__name__", "json:__name__ is a str"),
    ],
)
def test_a_callable_that_is_not_there_is_named(place, message):
    """The message is one line."""
    with pytest.raises(ScenarioError) as caught:
        load(place, "bare")

    assert str(caught.value) == message
    assert caught.value.key == "bare"
