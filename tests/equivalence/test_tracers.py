"""Tracers that are not the SDK's own: the API's no-op and proxy tracers, subclasses, third parties; disabled SDKs."""

from __future__ import annotations

from contextlib import contextmanager
from unittest import mock

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, Tracer, _Span
from opentelemetry.util._once import Once
from sidebyside.compare import assert_same
from sidebyside.errors import Own, own, plain
from sidebyside.seeing import exported_span, seen_error
from sidebyside.setups import Setup


@contextmanager
def _no_provider():
    with (
        mock.patch.object(trace, "_TRACER_PROVIDER", None),
        mock.patch.object(trace, "_TRACER_PROVIDER_SET_ONCE", Once()),
    ):
        yield


def _use(world, tracer):
    """What an instrumentation does with a tracer."""
    with tracer.start_as_current_span("outer", attributes={"a": [1]}, kind=trace.SpanKind.SERVER) as outer:
        world.told(outer, outer.is_recording(), trace.get_current_span() is outer)
        outer.set_attribute("b", 2)
        with tracer.start_as_current_span(name="inner", record_exception=False) as inner:
            world.told(inner, inner is outer)
        span = tracer.start_span("plain", links=[trace.Link(outer.get_span_context())])
        with trace.use_span(span, end_on_exit=True):
            world.told(trace.get_current_span())
    try:
        with tracer.start_as_current_span("failing"):
            plain()
    except ValueError as error:
        world.happened("failed", seen_error(error))

    @tracer.start_as_current_span("decorated")
    def decorated():
        return trace.get_current_span()

    world.told(decorated(), decorated())
    world.attempt("wrong", lambda: tracer.start_as_current_span("x", no_such=1).__enter__())
    world.told(trace.get_current_span())


@pytest.mark.proves("trace.no_op_tracer")
def test_no_op_tracer(fast):
    """A tracer of the API alone passes the current context on, whatever it is."""
    del fast

    def scenario(world):
        tracer = trace.NoOpTracer()
        _use(world, tracer)
        remote = trace.SpanContext(5, 6, is_remote=True, trace_flags=trace.TraceFlags(1))
        for outer in (trace.NonRecordingSpan(remote), world.tracer.start_span("recording")):
            with trace.use_span(outer):
                _use(world, tracer)
            with tracer.start_as_current_span("explicit", context=trace.set_span_in_context(outer)) as span:
                world.told(span, span is outer)

    assert_same(scenario)


@pytest.mark.proves("trace.proxy_tracer")
def test_proxy_tracer(fast):
    """A tracer asked for before there was a provider works without one, and uses it once it is there."""
    del fast

    def scenario(world):
        with _no_provider():
            tracer = trace.get_tracer("early", "1", attributes={"scope": 1})
            world.told(type(tracer).__name__)
            _use(world, tracer)
            remote = trace.NonRecordingSpan(trace.SpanContext(5, 6, is_remote=True))
            with trace.use_span(remote), tracer.start_as_current_span("below remote") as span:
                world.told(span, span is remote)
            scope = tracer.start_as_current_span("entered late")
            trace.set_tracer_provider(world.provider)
            with scope as span:
                world.told("entered late", span)
            _use(world, tracer)
            world.told(type(trace.get_tracer("late")).__name__)

    assert_same(scenario)


def test_disabled_sdk(fast):
    """OTEL_SDK_DISABLED gives tracers that record nothing."""
    del fast

    def scenario(world):
        with mock.patch.dict("os.environ", {"OTEL_SDK_DISABLED": "true"}):
            from opentelemetry.sdk.trace import TracerProvider

            provider = TracerProvider(shutdown_on_exit=False)
        world.told(type(provider.get_tracer("x")).__name__)
        _use(world, provider.get_tracer("x"))

    assert_same(scenario)


@pytest.mark.parametrize("name", ["", None])
def test_nameless_tracer(fast, name):
    """A tracer without a name is complained about and works."""
    del fast

    def scenario(world):
        _use(world, world.provider.get_tracer(name))

    assert_same(scenario)


class Louder(Tracer):
    """A user's subclass that overrides what the SDK's scope calls."""

    def start_span(self, name, *args, **kwargs):  # noqa: D102  # stock's interface
        span = super().start_span(name.upper(), *args, **kwargs)
        span.set_attribute("louder", sorted(kwargs))
        return span


def test_subclass_of_the_sdks_tracer(fast):
    """A tracer class that overrides start_span is asked for every span, with stock's keywords."""
    del fast

    def scenario(world):
        tracer = world.provider.get_tracer("to be louder")
        tracer.__class__ = Louder
        _use(world, tracer)

    assert_same(scenario)


def test_start_span_wrapped_on_the_instance(fast):
    """Somebody's wrapper on one tracer's start_span sees every span of that tracer."""
    del fast

    def scenario(world):
        tracer = world.provider.get_tracer("wrapped")
        inner = tracer.start_span

        def start_span(*args, **kwargs):
            world.told("wrapper", args, sorted(kwargs))
            return inner(*args, **kwargs)

        tracer.start_span = start_span
        _use(world, tracer)

    assert_same(scenario)


def test_start_span_wrapped_on_the_class(fast):
    """Somebody's wrapper on the SDK's own class sees every span, with stock's keywords."""
    del fast

    def scenario(world):
        inner = Tracer.start_span

        def start_span(*args, **kwargs):
            world.told("wrapper", len(args), sorted(kwargs))
            return inner(*args, **kwargs)

        with mock.patch.object(Tracer, "start_span", start_span):
            _use(world, world.tracer)

    assert_same(scenario)


class _Foreign(trace.Tracer):
    """A third party's tracer on the API, with spans of its own."""

    def start_span(self, name, **_kwargs):
        return _ForeignSpan(name)

    @trace._agnosticcontextmanager
    def start_as_current_span(self, name, **kwargs):
        with trace.use_span(self.start_span(name, **kwargs), end_on_exit=True) as span:
            yield span


class _ForeignSpan(trace.NonRecordingSpan):
    """Records what is done to it."""

    def __init__(self, name):
        super().__init__(trace.SpanContext(len(name), 2, is_remote=False, trace_flags=trace.TraceFlags(1)))
        self.calls = [name]

    def is_recording(self):
        return True

    def record_exception(self, exception, *args, **kwargs):
        self.calls.append(("record_exception", type(exception).__name__, args, kwargs))

    def set_status(self, status, description=None):
        self.calls.append(("set_status", status.status_code.name, status.description, description))

    def end(self, end_time=None):
        self.calls.append(("end", end_time))


def test_spans_of_a_third_party(fast):
    """use_span treats any API span as stock does; below it our tracer makes children of it."""
    del fast

    def scenario(world):
        for flags in ({}, {"record_exception": False}, {"set_status_on_exception": False}, {"end_on_exit": True}):
            span = _ForeignSpan("foreign")
            try:
                with trace.use_span(span, **flags):
                    world.told(world.tracer.start_span("child").parent)
                    own()
            except Own:
                world.told(span.calls)
        with _Foreign().start_as_current_span("other") as span:
            _use(world, world.tracer)
        world.told(span.calls)
        for odd in (None, "a string", object):
            with trace.use_span(odd) as span:
                world.told(span is odd, trace.get_current_span())

    assert_same(scenario, Setup(processors=("private", "simple")))


def test_spans_made_by_hand(fast):
    """Subclasses of the SDK's span, and spans that others construct, live beside ours."""
    del fast

    class Mine(_Span):
        def end(self, end_time=None):
            self.set_attribute("mine", value=True)
            super().end(end_time)

    def scenario(world):
        parent = world.tracer.start_span("parent")
        mine = Mine("mine", parent.get_span_context(), span_processor=world.provider._active_span_processor)
        mine.start(start_time=5)
        with trace.use_span(mine, end_on_exit=True):
            world.tracer.start_span("child of mine").end()
        world.happened("mine", exported_span(mine))
        world.attempt("Span()", lambda: Span("x", parent.get_span_context()))
        world.attempt("not started", Mine("y", parent.get_span_context()).end)
        world.happened("read-only", exported_span(ReadableSpan("by hand", parent.get_span_context())))

    assert_same(scenario)


def test_attach_and_values(fast):
    """Context values travel with the span, and explicit contexts are used and not changed."""
    del fast

    def scenario(world):
        token = context_api.attach(context_api.set_value("tenant", "x"))
        with world.tracer.start_as_current_span("one") as one:
            world.told(context_api.get_value("tenant"), len(context_api.get_current()))
            explicit = context_api.set_value("only", "here")
            with world.tracer.start_as_current_span("two", context=explicit) as two:
                world.told(two.parent, context_api.get_value("only"), len(explicit))
            world.told(trace.get_current_span() is one, type(context_api.get_current()).__name__)
        context_api.detach(token)
        world.told(len(context_api.get_current()))

    assert_same(scenario)
