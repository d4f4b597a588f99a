"""Scopes that fail to begin or to end, as stock's generators do."""

from __future__ import annotations

import contextlib
import gc
import weakref

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Sampler

LIMIT = RuntimeError, "generator raised StopIteration"


class _Ending(Sampler, RandomIdGenerator, SpanProcessor):
    """Something of the application's that has nothing more to say."""

    def __init__(self, *names):
        for name in names:
            setattr(self, name, self._end)

    def _end(self, *_args, **_more):
        next(iter(()))

    def should_sample(self, *_args, **_more):
        raise NotImplementedError

    def get_description(self):
        return "ending"


def _provider(name):
    made = _Ending(name)
    parts = {"should_sample": {"sampler": made}, "generate_trace_id": {"id_generator": made}}
    provider = TracerProvider(shutdown_on_exit=False, **parts.get(name, {}))
    if name not in parts:
        provider.add_span_processor(made)
    return provider


PLACES = pytest.mark.parametrize("name", ["should_sample", "generate_trace_id", "on_start", "_on_ending", "on_end"])


@PLACES
@pytest.mark.parametrize("is_behind_a_proxy", [False, True])
def test_an_iteration_that_ends_is_an_error(instrumented, name, is_behind_a_proxy, monkeypatch, no_faults):
    """Otherwise a loop of the application's would end where a sampler or processor has nothing more to say."""
    del instrumented
    provider = _provider(name)
    tracer = trace.ProxyTracer("odd") if is_behind_a_proxy else provider.get_tracer("odd")
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    @tracer.start_as_current_span("decorated")
    def decorated():
        """Do nothing."""

    def in_block():
        with tracer.start_as_current_span("block"):
            pass

    for call in (decorated, in_block):
        with pytest.raises(LIMIT[0], match=LIMIT[1]) as raised:
            call()
        assert isinstance(raised.value.__cause__, StopIteration)
        assert trace.get_current_span() is trace.INVALID_SPAN
    assert no_faults.counts() == {}


def test_a_tracer_behind_a_proxy(instrumented, monkeypatch, no_faults):
    """The same of a context manager of another tracer's."""
    del instrumented

    class Scope:
        is_late = False

        def __enter__(self):
            return None if self.is_late else next(iter(()))

        def __exit__(self, *_error):
            next(iter(()))

    class Tracer(trace.NoOpTracer):
        def start_as_current_span(self, *_args, **_more):
            return Scope()

    class Provider(trace.NoOpTracerProvider):
        def get_tracer(self, *_args, **_more):
            return Tracer()

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", Provider())
    for Scope.is_late in (False, True):
        with pytest.raises(LIMIT[0], match=LIMIT[1]), trace.ProxyTracer("odd").start_as_current_span("span"):
            pass
    assert no_faults.counts() == {}


def test_the_applications_own_is_left_as_it_is(instrumented, exporting):
    """`StopIteration` of the block is recorded and raised."""
    del instrumented
    own = StopIteration("own")
    with exporting() as (provider, got):
        for scope in (
            provider.get_tracer("odd").start_as_current_span("span"),
            trace.use_span(provider.get_tracer("odd").start_span("span"), end_on_exit=True),
        ):
            with pytest.raises(StopIteration) as raised, scope:
                raise own
            assert raised.value is own
        provider.force_flush()
    assert [len(span.events) for span in got] == [1, 1]


@pytest.mark.parametrize("given", [None, 5, "text", object()])
def test_what_is_no_span_cannot_be_ended(instrumented, given, no_faults):
    """A mistake of the application's fails as with stock, and is not logged as a fault of this package."""
    del instrumented
    with pytest.raises(AttributeError, match="has no attribute 'end'"), trace.use_span(given, end_on_exit=True):
        raise LookupError("the application's")
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert no_faults.counts() == {}


class _Raising(_Ending):
    """Something of the application's that fails."""

    def _end(self, *_args, **_more):
        raise LookupError("the application's")


class _Held:
    """What the application has in a local variable, such as a request."""


@PLACES
def test_what_an_error_passes_is_freed(instrumented, name, no_faults, monkeypatch, unfrozen):
    """An exception and a frame that refer to each other would keep what the application's frames hold."""
    del instrumented, unfrozen
    monkeypatch.setitem(globals(), "_Ending", _Raising)
    tracer = _provider(name).get_tracer("odd")

    def in_block():
        with tracer.start_as_current_span("block"):
            pass

    def call(function):
        held = _Held()
        kept.append(weakref.ref(held))
        with contextlib.suppress(LookupError):
            function()

    kept = []
    gc.disable()
    try:
        for function in (in_block, lambda: tracer.start_span("span").end()):
            call(function)
            assert kept[-1]() is None
    finally:
        gc.enable()
    assert no_faults.counts() == {}
