"""Span processors, samplers and providers: who is called when, with what, and what happens when one fails."""

from __future__ import annotations

import itertools
from unittest import mock

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider, sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from sidebyside.compare import assert_same
from sidebyside.errors import plain
from sidebyside.processors import PROCESSORS, Keeping
from sidebyside.setups import ID_GENERATORS, SAMPLERS, InheritingParentBased, Setup


def _some_spans(world):
    """A root, a child with everything on it, one that fails, one below a dropped one."""
    with world.tracer.start_as_current_span("a", attributes={"a": 1, "b": ["x"]}) as outer:
        world.tick()
        # What a processor raises ends here: further out it would be recorded with the frames of the SDK's depths.
        world.attempt("inner", lambda: _inner(world, outer))
        world.attempt("dropped", lambda: _dropped(world))
        world.attempt("failing", lambda: _failing(world))


def _inner(world, outer):
    with world.tracer.start_as_current_span("record", kind=1) as inner:
        inner.set_attribute("late", 2)
        inner.add_event("event", {"c": None})
        inner.add_link(outer.get_span_context(), {"d": b"e"})


def _dropped(world):
    span = world.tracer.start_span("drop", start_time=5)
    span.set_status(2, "no")
    span.end(end_time=7)


def _failing(world):
    with world.tracer.start_as_current_span("failing"):
        plain()


@pytest.mark.parametrize("processor", sorted(PROCESSORS))
def test_each_processor_beside_batches(fast, processor):
    """A processor of any kind, before, between and after batch processors, sees and does what it does with stock."""
    del fast
    for processors in ((processor,), (processor, "batch"), ("batch", processor), ("batch", processor, "batch")):
        assert_same(lambda world: world.attempt("spans", lambda: _some_spans(world)), Setup(processors=processors))


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
def test_each_sampler_with_each_id_generator(fast, sampler):
    """Every sampler decides the same for every kind of id, and is asked the same."""
    del fast
    for ids, seed in itertools.product(sorted(ID_GENERATORS), range(3)):
        setup = Setup(sampler=sampler, ids=ids, processors=("public", "batch"), seed=seed)
        assert_same(lambda world: world.attempt("spans", lambda: _some_spans(world)), setup)


def test_processors_added_while_spans_are_open(fast):
    """A processor sees the ends of spans that it did not see start, as with stock."""
    del fast

    def scenario(world):
        provider = world.provider
        spans = [world.tracer.start_span("before any")]
        for name in ("batch", "public", "batch", "mutating", "simple"):
            provider.add_span_processor(PROCESSORS[name](world))
            spans.append(world.tracer.start_span(f"after {name}"))
            world.tick()
        for span in spans:
            span.end()

    assert_same(scenario, Setup(processors=()))


def test_shutdown_with_spans_open(fast):
    """Spans that end after the provider's shutdown are dropped with stock's log record."""
    del fast

    def scenario(world):
        span = world.tracer.start_span("open")
        world.tracer.start_span("done").end()
        world.provider.shutdown()
        span.end()
        world.tracer.start_span("late").end()
        world.provider.shutdown()

    for processors in (("batch",), ("simple",), ("batch", "public")):
        assert_same(scenario, Setup(processors=processors))


def test_full_queue(fast):
    """A full queue drops the oldest span and says so."""
    del fast

    def scenario(world):
        exporter = world.keep(Keeping())
        batch = BatchSpanProcessor(exporter, max_queue_size=3, schedule_delay_millis=3_600_000, max_export_batch_size=3)
        # Its thread would wake up at some time of its own, between two spans.
        with mock.patch.object(batch._batch_processor, "_worker_awaken", mock.MagicMock()) as awaken:
            world.provider.add_span_processor(batch)
            for number in range(8):
                world.tracer.start_span(f"span {number}").end()
            world.told([str(call) for call in awaken.mock_calls if "set" in str(call)] != [])
        world.provider.force_flush()

    assert_same(scenario, Setup(processors=()))


def test_batch_processor_that_others_changed(fast):
    """A batch processor whose emit or on_end somebody replaced is used as they want it."""
    del fast

    def scenario(world):
        batch = PROCESSORS["batch"](world)
        world.provider.add_span_processor(batch)
        world.tracer.start_span("before").end()
        inner = batch.on_end
        batch.on_end = lambda span: (world.told("seen", span), inner(span))
        world.provider.add_span_processor(PROCESSORS["simple"](world))
        world.tracer.start_span("after").end()

    assert_same(scenario, Setup(processors=()))


class _Asking(SpanProcessor):
    """Starts a span for each span that starts and ends, as an instrumented exporter would."""

    def __init__(self, world):
        self._world = world
        self._busy = False

    def _span(self, name):
        if not self._busy:
            self._busy = True
            with self._world.tracer.start_as_current_span(name):
                pass
            self._busy = False

    def on_start(self, span, parent_context=None):
        self._span(f"on_start of {span.name} in {parent_context}")

    def on_end(self, span):
        self._span(f"on_end of {span.name}")


def test_processor_that_starts_spans(fast):
    """Spans made inside a processor are spans like any other."""
    del fast

    def scenario(world):
        world.provider.add_span_processor(_Asking(world))
        _some_spans(world)

    assert_same(scenario, Setup(processors=("light", "batch")))


@pytest.mark.proves("tracer.configuration")
def test_configuration_changed_at_run_time(fast):
    """What somebody sets on the tracer or its provider counts from the next span on."""
    del fast

    def scenario(world):
        tracer, provider = world.tracer, world.provider
        changes = (
            lambda: setattr(tracer, "sampler", sampling.ALWAYS_OFF),
            lambda: setattr(tracer, "sampler", sampling.DEFAULT_ON),
            lambda: setattr(tracer, "id_generator", ID_GENERATORS["small"]()),
            lambda: setattr(tracer, "_span_limits", SpanLimits(max_span_attributes=1)),
            lambda: setattr(tracer, "resource", tracer.resource.merge(tracer.resource)),
            lambda: setattr(tracer, "resource", type(tracer.resource)({"other": 1})),
            lambda: setattr(tracer, "instrumentation_info", None),
            lambda: setattr(tracer, "_instrumentation_scope", None),
            lambda: setattr(tracer, "span_processor", PROCESSORS["light"](world)),
            lambda: setattr(tracer, "span_processor", provider._active_span_processor),
            lambda: setattr(tracer, "unknown", 1),
            lambda: delattr(tracer, "unknown"),
            lambda: provider._update_resource(type(tracer.resource)({"updated": 1})),
        )
        for change in changes:
            # Not every release has all of it.
            world.attempt("change", change)
            with tracer.start_as_current_span("span", attributes={"a": 1, "b": 2}):
                tracer.start_span("child").end()

    for processors in (("batch",), ("public", "batch")):
        assert_same(scenario, Setup(processors=processors))


@pytest.mark.parametrize("roots", [("on", "off", "on"), ("off", "on", "off")])
def test_a_sampler_that_inherits_and_changes_itself(fast, roots):
    """As samplers do whose rate is set at run time: the next span is sampled as they then say."""
    del fast
    known = {"on": sampling.ALWAYS_ON, "off": sampling.ALWAYS_OFF}

    def scenario(world):
        sampler = world.tracer.sampler = InheritingParentBased(known[roots[0]])
        for root in roots:
            sampler._root = known[root]
            with world.tracer.start_as_current_span(root):
                world.tracer.start_span("child").end()
        sampler._local_parent_sampled = sampling.ALWAYS_OFF
        with world.tracer.start_as_current_span("last"):
            world.tracer.start_span("child").end()
        with mock.patch.object(InheritingParentBased, "should_sample", sampling.ALWAYS_OFF.should_sample, create=True):
            world.tracer.start_span("replaced").end()

    assert_same(scenario, Setup(processors=("batch",)))


@pytest.mark.proves("simple_processor.on_end")
def test_the_context_of_an_export_at_the_end_of_a_span(fast):
    """An exporter that is called at once sees stock's context, which is restored; what it raises is logged."""
    del fast

    def scenario(world):
        class Reading(Keeping):
            def export(self, spans):
                world.happened("suppressed", context.get_value("suppress_instrumentation"))
                world.happened("current", trace.get_current_span().get_span_context() is None)
                raise LookupError(spans[0].name)

        world.provider.add_span_processor(SimpleSpanProcessor(Reading()))
        token = context.attach(context.set_value("key", "value"))
        before = context.get_current()
        with world.tracer.start_as_current_span("a"):
            world.tracer.start_span("b").end()
        world.happened("restored", context.get_current() is before)
        context.detach(token)

    assert_same(scenario, Setup(processors=("batch",)))


def test_tracer_configurator(fast):
    """A tracer that is disabled at run time starts spans that record nothing, below whatever is current."""
    del fast
    config = pytest.importorskip("opentelemetry.sdk.trace")._TracerConfig

    def scenario(world):
        provider = world.provider
        if not hasattr(provider, "_set_tracer_configurator"):
            return
        with world.tracer.start_as_current_span("on"):
            for enabled in (False, True, False):
                rule = config(is_enabled=enabled)
                provider._set_tracer_configurator(tracer_configurator=lambda _, rule=rule: rule)
                _some_spans(world)
            world.attempt("broken", lambda: provider._set_tracer_configurator(tracer_configurator=lambda _: 1 / 0))
            world.attempt("spans", lambda: _some_spans(world))
            world.attempt("new", lambda: world.provider.get_tracer("new").start_span("of a new tracer").end())

    assert_same(scenario)


@pytest.mark.parametrize("sampler", ["default", "ratio half", "always off", "record only", "telling", "raising"])
def test_the_sdks_own_metrics(fast, sampler):
    """Self-observability counts spans started, live and processed as stock does."""
    del fast

    def scenario(world):
        for _ in range(3):
            world.attempt("spans", lambda: _some_spans(world))
        world.tracer.start_span("still open")

    for processors in (("batch",), ("simple", "batch"), ()):
        assert_same(scenario, Setup(sampler=sampler, processors=processors, metrics=True))


def test_concurrent_processors(fast):
    """With a ConcurrentMultiSpanProcessor each processor sees each span once, and failures reach the caller."""
    del fast
    for processors in (("batch", "simple"), ("public", "batch"), ("fails on_end",), ("fails on_start", "simple")):
        setup = Setup(processors=processors, concurrent=True)
        assert_same(lambda world: world.attempt("spans", lambda: _some_spans(world)), setup)


def test_several_providers(fast):
    """Spans of one provider have children of another; each goes where its own provider sends it."""
    del fast

    def scenario(world):
        other = TracerProvider(shutdown_on_exit=False, sampler=sampling.ALWAYS_OFF)
        third = TracerProvider(shutdown_on_exit=False, span_limits=SpanLimits(max_span_attributes=1))
        third.add_span_processor(SimpleSpanProcessor(world.keep(Keeping())))
        tracers = [world.tracer, other.get_tracer("dropping"), third.get_tracer("small")]
        for order in itertools.permutations(tracers):
            with (
                order[0].start_as_current_span("1", attributes={"a": 1, "b": 2}),
                order[1].start_as_current_span("2", attributes={"a": 1, "b": 2}),
                order[2].start_as_current_span("3", attributes={"a": 1, "b": 2}) as span,
            ):
                world.told(span)

    assert_same(scenario)
