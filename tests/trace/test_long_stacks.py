"""The stack trace of a recursion takes little memory while its span waits in the queue."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import suppress

import pytest

SPANS = 50


def _itself(levels):
    if levels:
        _itself(levels - 1)
    raise ValueError("deep enough")


def _in_turn(levels):
    if levels:
        _other(levels - 1)
    raise ValueError("deep enough")


def _other(levels):
    _in_turn(levels)


@pytest.mark.parametrize(("recursion", "levels", "most"), [(_itself, 800, 4_000), (_in_turn, 400, 20_000)])
def test_a_long_stack_takes_little_memory(recursion, levels, most, exporting):
    """Of 800 frames, most are the same."""
    with exporting() as (provider, _got):
        tracer = provider.get_tracer("recursions")

        def fail():
            with suppress(ValueError), tracer.start_as_current_span("span"):
                recursion(levels)

        fail()
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(SPANS):
                fail()
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
    assert taken / SPANS < most
