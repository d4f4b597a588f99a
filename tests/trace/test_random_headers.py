"""Random operations of propagators do the same with stock's methods and with this package's."""

from __future__ import annotations

import functools

import pytest
import random_propagation

SLICES = [range(first, first + 1500) for first in range(0, 15000, 1500)]


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


@functools.cache
def expected(seeds):
    """What stock does."""
    return [random_propagation.outcome(seed) for seed in seeds]


@pytest.mark.proves("propagation.*", "b3.*", "jaeger.*", "xray.*")
@pytest.mark.parametrize(
    "seeds", [SLICES[0], *(pytest.param(each, marks=pytest.mark.slow) for each in SLICES[1:])], ids=lambda each: each[0]
)
@pytest.mark.parametrize("core", ["py", "c"])
def test_random_operations(seeds, core, instrumentor, no_faults):
    """The same results, exceptions, log records and calls of getters, setters and other propagators."""
    outcomes = expected(seeds)
    instrumentor.instrument(core=core)
    states = {row.name: (row.state.value, row.reason) for row in instrumentor.status()}
    patches = [name for name in states if name.partition(".")[0] in {"propagation", "b3", "jaeger", "xray"}]
    assert len(patches) == 13, patches
    assert {states[name] for name in patches} == {("applied", "")}

    wrong = [
        (seed, outcome, found)
        for seed, outcome in zip(seeds, outcomes, strict=True)
        if (found := random_propagation.outcome(seed)) != outcome
    ]

    assert wrong[:3] == []
    assert no_faults.counts() == {}
