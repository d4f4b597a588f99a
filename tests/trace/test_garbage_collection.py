"""Spans that the garbage collector ends: it runs finalizers in the middle of whatever a thread does."""

from __future__ import annotations

import sys

import pytest

SPANS = 1000
PROGRAM = """
from opentelemetry import context

made = setup()
tracer = made.get_tracer("collected")

class Cycle:
    pass

def opened(number):
    with tracer.start_as_current_span("abandoned", attributes={"number": number}) as span:
        span.add_event("event", {"number": number})
        yield span

abandoned = 0

def abandon():
    global abandoned
    cycle = Cycle()
    cycle.self, cycle.generator = cycle, opened(abandoned)
    token = context.attach(context.Context())
    next(cycle.generator)
    context.detach(token)
    abandoned += 1

def collect_after(more):
    # So many more objects than there are now.
    gc.set_threshold(gc.get_count()[0] + 1 + more, 1, 1)

gc.collect()
gc.freeze()
for number in range(int(sys.argv[2])):
    gc.set_threshold(0)
    gc.collect()
    abandon()
    with tracer.start_as_current_span("main", attributes={"number": number}) as span:
        span.add_event("event", {"cycle": "a"})
        # The collector comes a little later each time, now in what follows, now in the end of the span.
        if number % 2:
            collect_after(number // 2 % 23)
        span._events, span._attributes, span._links
        assert len(span.events) == 1
        if not number % 2:
            collect_after(number // 2 % 23)
gc.collect()
print(abandoned)
"""
SETUPS = {
    "a processor of the user's own": """
def setup():
    return provider(Own())
""",
    "SimpleSpanProcessor": """
def setup():
    return provider(SimpleSpanProcessor(Nothing()))
""",
}


# Before 3.12 the collector can run inside `ContextVar.set`. A finalizer that sets a variable then frees what `set` is
# still reading: the process ends with signal 11, with stock OpenTelemetry, too, and without any. SimpleSpanProcessor
# sets a variable for each span that ends.
CRASHES = pytest.mark.skipif(sys.version_info < (3, 12), reason="CPython's ContextVar.set crashes, also with stock")


@pytest.mark.parametrize(
    "setup",
    [pytest.param(each, id=name, marks=[CRASHES] if "Simple" in name else []) for name, each in SETUPS.items()],
)
def test_abandoned_generators(in_a_process, setup):
    """Generators abandoned with an open span, in cycles: each span ends once, whatever its thread is at then."""
    assert in_a_process(setup + PROGRAM, SPANS) == f"{SPANS}\n"
