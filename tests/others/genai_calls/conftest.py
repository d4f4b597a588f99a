"""What the tests of genai's calls share."""

from __future__ import annotations

import itertools
import timeit
from contextlib import contextmanager

import pytest
from genai_telemetry import Telemetry
from opentelemetry.util.genai import _inference_invocation as inference
from opentelemetry.util.genai import _invocation as base
from opentelemetry.util.genai import stream

__all__ = ["Telemetry"]

# By name of the patch: where stock's function is.
PLACES = {
    "start": (inference.InferenceInvocation, "__init__"),
    "chunk": (inference.InferenceInvocation, "_on_stream_chunk"),
    "finish": (inference.InferenceInvocation, "_apply_finish"),
    "merge": (base._ContextData, "merge"),
    "stream": (stream.SyncStreamWrapper, "__next__"),
    "stream.async": (stream.AsyncStreamWrapper, "__anext__"),
}
STOCK = {name: vars(owner)[attribute] for name, (owner, attribute) in PLACES.items()}


@pytest.fixture
def libraries():
    """No library is wrapped: that takes longer than these tests."""
    return ()


@pytest.fixture
def ours(instrumented, no_faults):
    """This package's functions in the place of stock's; there must be no fault."""
    states = {row.name: (row.state.value, row.reason) for row in instrumented.status()}
    assert [states[f"genai.{name}"] for name in PLACES] == [("applied", "")] * len(PLACES)
    yield {name: vars(owner)[attribute] for name, (owner, attribute) in PLACES.items()}
    assert no_faults.counts() == {}


@contextmanager
def functions(found):
    """Put these functions in their places meanwhile."""
    before = {name: vars(owner)[attribute] for name, (owner, attribute) in PLACES.items()}
    try:
        for name, (owner, attribute) in PLACES.items():
            setattr(owner, attribute, found[name])
        yield
    finally:
        for name, (owner, attribute) in PLACES.items():
            setattr(owner, attribute, before[name])


@contextmanager
def counted_time():
    """A clock that is one second later each time it is read."""
    before = timeit.default_timer
    timeit.default_timer = map(float, itertools.count()).__next__
    try:
        yield
    finally:
        timeit.default_timer = before
