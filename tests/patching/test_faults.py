"""A fault in our own code: stock's runs instead, the host notices nothing, and one log line says so."""

from __future__ import annotations

import functools
import gc
import logging
import weakref

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler

from otel_fastpath import compiled as cores
from otel_fastpath.http.server import serve_instead
from otel_fastpath.logs.refused import refuse
from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import absorb_during
from otel_fastpath.trace import set_up
from otel_fastpath.trace.planning import tracer_planner


def fault():
    """A function of ours with a bug: whatever it is called with, a line of this package raises."""
    namespace = {"__name__": "otel_fastpath.injected"}
    text = "def broken(*args, **kwargs):\n    raise ZeroDivisionError('injected')"
    exec(text, namespace)  # noqa: S102  # the module that a function is of is told by its globals
    return namespace["broken"]


@pytest.fixture
def exporter():
    """Where spans go."""
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    """A tracer of the kind that services have."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    yield provider.get_tracer("test")
    provider.shutdown()


@pytest.fixture
def serve(tracer, exporter):
    """A service's work: it must come out the same, whatever breaks in us. Gives the names of the exported spans."""

    def work():
        with tracer.start_as_current_span("request", attributes={"bytes": b"to clean"}) as request:
            assert trace.get_current_span() is request
            request.set_attribute("key", "value")
            with tracer.start_as_current_span("inner"):
                pass
        single = tracer.start_span("single", attributes={"bytes": b"to clean"})
        single.end()
        with pytest.raises(KeyError, match="theirs"), tracer.start_as_current_span("failed"):
            raise KeyError("theirs")
        assert trace.get_current_span() is trace.INVALID_SPAN
        tracer.span_processor.force_flush()
        return {span.name: span for span in exporter.get_finished_spans()}

    return work


def check(spans):
    """What the work leaves behind with stock OpenTelemetry."""
    assert list(spans) == ["inner", "request", "single", "failed"]
    assert list(spans["request"].attributes) == ["bytes", "key"]
    assert spans["inner"].parent.span_id == spans["request"].context.span_id
    assert spans["failed"].status.description == "KeyError: 'theirs'"
    assert [event.name for event in spans["failed"].events] == ["exception"]


@pytest.mark.usefixtures("instrumented")
def test_nothing_is_broken(serve, no_faults, logged):
    """The work that the other tests break comes out right without a fault."""
    check(serve())

    assert no_faults.counts() == {}
    assert logged() == []


def test_making_a_patch(instrumentor, core, environ, serve, logged):
    """The patches that cannot be made are skipped with a traceback each; the rest and the host go on."""
    set_up._ready.cache_clear()
    environ.setattr(cores, "load", fault())
    instrumentor.instrument(core=core)

    states = {row.name: row.state.value for row in instrumentor.status()}
    assert states["tracer.start_as_current_span"] == states["trace.use_span"] == "skipped"
    assert "ZeroDivisionError: injected" in {row.reason for row in instrumentor.status()}
    check(serve())
    lines = logged(logging.ERROR)
    assert lines
    said = "was not applied; the original stays in place.", "wrapper could not be set up completely."
    assert all(line.endswith(said) for line in lines)


@pytest.mark.usefixtures("instrumented")
def test_planning_a_tracer(environ, serve, logged):
    """Its spans are stock's; asked once, not for each span."""
    environ.setattr(tracer_planner.TracerPlanner, "plan_own", fault())

    check(serve())

    (line,) = logged(logging.ERROR)
    assert "stock starts its spans" in line


@pytest.mark.usefixtures("instrumented")
def test_starting_a_span(tracer, serve, no_faults, logged):
    """The span is started by stock, once; one line, and every fault is counted once."""
    tracer.start_span("planned").end()
    tracer._otel_fastpath_plan.clean = fault()

    spans = serve()

    spans.pop("planned")
    check(spans)
    assert no_faults.counts() == {"Tracer.start_as_current_span": 1, "Tracer.start_span": 1}
    lines = logged(logging.ERROR)
    assert len(lines) == len(no_faults.counts())
    assert all("went on without it" in line for line in lines)


@pytest.mark.usefixtures("instrumented")
def test_leaving_a_scope(environ, serve, no_faults, logged):
    """A stack trace that we cannot reduce is stock's; the host's exception is the one that it raised."""
    environ.setattr("otel_fastpath.trace.stack_traces._frames", fault())

    check(serve())

    assert sum(no_faults.counts().values()) == 1
    assert len(logged(logging.ERROR)) == 1


@pytest.mark.usefixtures("instrumented")
def test_setting_an_attribute(tracer, no_faults, logged):
    """A value that we cannot clean is cleaned by stock."""
    spans = [tracer.start_span("span") for _ in range(3)]
    tracer._otel_fastpath_plan.clean = fault()
    spans[0].set_attribute("one", b"to clean")
    spans[1].set_attributes({"two": b"to clean"})
    spans[2].add_event("event", {"three": b"to clean"})

    assert [list(span.attributes) for span in spans] == [["one"], ["two"], []]
    assert list(spans[2].events[0].attributes) == ["three"]
    assert no_faults.counts().keys() >= {"Span.set_attribute", "Span.add_event"}
    assert len(logged(logging.ERROR)) == len(no_faults.counts())


class TheirError(Exception):
    """What a sampler or processor of the user's raises."""


class FailingSampler(Sampler):
    """Fails as a user's own code can."""

    calls = 0

    def should_sample(self, *args, **kwargs):  # noqa: ARG002  # stock's interface
        """Fail, and count."""
        self.calls += 1
        raise TheirError

    def get_description(self):
        """What stock asks for."""
        return "failing"


class FailingProcessor(SpanProcessor):
    """Likewise."""

    def on_start(self, span, parent_context=None):  # noqa: ARG002  # stock's interface
        """Fail."""
        raise TheirError


@pytest.mark.usefixtures("instrumented")
def test_what_users_code_raises_is_theirs(no_faults, logged):
    """A sampler's or processor's exception reaches the caller as with stock: called once, and no fault of ours."""
    sampler = FailingSampler()
    tracer = TracerProvider(sampler=sampler, shutdown_on_exit=False).get_tracer("test")
    with pytest.raises(TheirError):
        tracer.start_span("span")
    provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(FailingProcessor())
    with pytest.raises(TheirError):
        provider.get_tracer("test").start_as_current_span("span").__enter__()

    assert sampler.calls == 1
    assert no_faults.counts() == {}
    assert logged() == []


def raised_by(*modules):
    """What `faults.ours` says of an exception that passed through lines of these modules, the innermost last."""
    call = None
    for name in reversed(modules):
        namespace = {"__name__": name, "call": call}
        text = "def line():\n    call()" if call else "def line():\n    raise LookupError"
        exec(text, namespace)  # noqa: S102  # the module that a line is of is told by its globals
        call = namespace["line"]
    try:
        call()
    except LookupError as error:
        # As the handlers see it, which stand in lines of this package.
        return faults.ours(error.with_traceback(error.__traceback__.tb_next))


@pytest.mark.parametrize(
    ("modules", "is_ours"),
    [
        (["otel_fastpath.trace.spans.span"], True),
        (["otel_fastpath.trace.spans.span_c", "otel_fastpath.lazy"], True),
        (["otel_fastpath.trace.stack_traces", "linecache", "tokenize"], True),
        (["otel_fastpath.trace.spans.span", "opentelemetry.sdk.trace", "otel_fastpath.trace.spans.span_classes"], True),
        (["otel_fastpath.trace.spans.span", "opentelemetry.sdk.trace"], False),
        (["otel_fastpath.trace.spans.span", "opentelemetry.attributes", "collections"], False),
        (["otel_fastpath.trace.span_start", "app.sampling"], False),
        (["otel_fastpath.trace.span_start", "app.sampling", "random"], False),
        (["otel_fastpath.trace.span_start", "app.sampling", "otel_fastpath.trace.spans.span"], False),
        (["otel_fastpath.trace.span_start", "__main__"], False),
        (["otel_fastpath_plugin"], False),
    ],
    ids=lambda value: " > ".join(value) if isinstance(value, list) else "",
)
def test_whose_fault_it_is(modules, is_ours):
    """Ours is what our lines raise, or the standard library for them; not what others do, with or without our help."""
    assert raised_by(*modules) is is_ours


def test_what_was_never_raised_is_not_ours():
    """An exception without a traceback tells nothing."""
    assert not faults.ours(ValueError("made, not raised"))


class _TheirExit(BaseException):
    """What is raised again, whatever raised it."""


class _Call:
    """A call that is current."""

    def leave(self):
        """Do nothing."""


RAISING_AGAIN = {
    "absorb": functools.partial(faults.absorb, "place"),
    "absorb_any": functools.partial(faults.absorb_any, "place"),
    "raise_others": faults.raise_others,
    "raise_interruption": faults.raise_interruption,
    "absorb_during": functools.partial(absorb_during, "place", _Call()),
    "serve_instead": functools.partial(serve_instead, "place"),
    "refuse": functools.partial(refuse, "place"),
}


@pytest.mark.parametrize("name", RAISING_AGAIN)
def test_what_is_raised_again_keeps_no_frame(name, unfrozen):
    """The exception and a frame would refer to each other, and keep what is in the application's frames."""
    del unfrozen

    class Held:
        """What the application has in a local variable."""

    def call():
        held = Held()
        kept.append(weakref.ref(held))
        try:
            try:
                raise _TheirExit  # noqa: TRY301  # as other code does
            except _TheirExit as error:
                RAISING_AGAIN[name](error)
        except _TheirExit:
            return
        pytest.fail("it was not raised again")

    kept = []
    gc.disable()
    try:
        call()
        assert kept[0]() is None
    finally:
        gc.enable()
