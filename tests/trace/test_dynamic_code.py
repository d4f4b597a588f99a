"""Code that is made while the program runs, each under a file name of its own: memory stays, the text is stock's."""

from __future__ import annotations

import gc
import json
import linecache
import sys
import weakref

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_fastpath.trace import stack_traces


@pytest.fixture
def tracer():
    """A tracer of the SDK."""
    provider = TracerProvider(shutdown_on_exit=False)
    yield provider.get_tracer("dynamic")
    provider.shutdown()


def recorded(tracer, name, names):
    """The stack trace of code of this file name with these globals, and the code."""
    code = compile("\n\nraise ValueError", name, "exec")
    with pytest.raises(ValueError), tracer.start_as_current_span("dynamic") as span:  # noqa: PT011  # has no text
        exec(code, names)  # noqa: S102  # the subject
    return span.events[0].attributes["exception.stacktrace"], code


@pytest.mark.parametrize("name", ["<dynamic {}>", "/no/such/place/{}.py"])
@pytest.mark.parametrize("names", [{}, vars(json)], ids=["plain", "of a module"])
def test_the_text_is_stocks(core, instrumentor, tracer, name, names):
    """With the source that stock finds for it, which for the globals of a module is the module's."""
    # Whether the source of a file is found with a frame's globals is looked at once for each name.
    name = name.format(f"{core}{len(names)}")
    expected, _ = recorded(tracer, name, names)
    linecache.clearcache()

    instrumentor.instrument(core=core)
    found, _ = recorded(tracer, name, names)

    assert found == expected


@pytest.mark.parametrize("name", ["<dynamic {}>", "/no/such/place/{}.py"])
@pytest.mark.parametrize("names", [{}, vars(json)], ids=["plain", "of a module"])
def test_nothing_is_kept_for_each_name(instrumented, tracer, amount, name, names):
    """Neither the code, nor a text without end, nor an entry of the `linecache` module."""
    del instrumented
    before = len(linecache.cache)
    codes = []
    for index in range(amount(5_000, 60_000)):
        _, code = recorded(tracer, name.format(index), names)
        codes.append(weakref.ref(code))
        del code
    gc.collect()

    assert len([code for code in codes if code() is not None]) < 10
    assert len(linecache.cache) < before + 20
    for cache in (stack_traces._texts, stack_traces._files):
        assert sum(map(sys.getsizeof, cache.items)) <= cache._most
        assert len(cache.items) * stack_traces._ENTRY <= cache._most
