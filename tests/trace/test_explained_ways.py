"""The status says which way the spans of each tracer take, and why."""

from __future__ import annotations

import functools

import pytest
from newer_releases import older
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import sampling
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

HERE = __name__
QUEUED = (
    "BatchSpanProcessor: ended spans are queued without calling on_end; "
    "on_start and _on_ending do nothing and are not called."
)
# Before OpenTelemetry 1.42, they are, whether metrics of the SDK are asked for or not.
OWN_METRICS = ("The SDK's own metrics are recorded for every span.",) if older("opentelemetry-sdk", "1.42") else ()
NOBODY = ("Nobody has replaced a method of Tracer, Span or ReadableSpan.",)


class VendorProcessor(sdk_trace.SpanProcessor):
    """Looks at the start and the end of spans."""

    def on_start(self, span, parent_context=None):
        """See the base class."""

    def on_end(self, span):
        """See the base class."""


class VendorSampler(sampling.Sampler):
    """Samples everything."""

    def should_sample(self, *_args, **_kwargs):
        """See the base class."""
        return sampling.SamplingResult(sampling.Decision.RECORD_AND_SAMPLE)

    def get_description(self):
        """See the base class."""
        return "all"


class VendorIds(RandomIdGenerator):
    """Ids of its own."""


def theirs(*_args, **_kwargs):
    """What other code puts in a method's place."""


@pytest.fixture
def provide(instrumented):
    """Makes a provider with these processors; gives it, and the ways of its tracers that have started a span."""
    made = []

    def make(*processors, **settings):
        name = f"service.{len(made)}"
        provider = sdk_trace.TracerProvider(
            shutdown_on_exit=False, resource=Resource({"service.name": name}), **settings
        )
        made.append(provider)
        for processor in processors:
            provider.add_span_processor(processor)
        return provider, lambda: [way for way in instrumented.status().tracers if way.provider.startswith(name)]

    yield make
    for provider in made:
        provider.shutdown()


@pytest.fixture
def put(provide):  # noqa: ARG001  # torn down before it
    """Replaces attributes while the process is instrumented: later, it would put ours back."""
    with pytest.MonkeyPatch.context() as patching:
        yield patching


def batch():
    """Stock's batch processor."""
    return BatchSpanProcessor(InMemorySpanExporter())


def started(provider, name="app"):
    """A tracer that has started and ended a span."""
    tracer = provider.get_tracer(name)
    # Before OpenTelemetry 1.41, a provider does not keep its tracers; the status tells of those that are in use.
    vars(provider).setdefault("kept_for_the_test", []).append(tracer)
    tracer.start_span("span").end()
    return tracer


def test_tracers_with_the_same_way_are_one_entry(provide):
    """With the names of those that are in use, and stock's parts without a call."""
    provider, ways = provide(batch())
    for name in ("app", "library"):
        started(provider, name)
    provider.get_tracer("unused")
    (way,) = ways()

    assert way.provider == "service.0, another provider"
    assert way.tracers == ("app", "library")
    assert way.served_by == "otel-fastpath"
    assert way.parts == {
        "start": (
            "ParentBased.should_sample is not called: its rule is applied here.",
            "Ids are drawn here, as RandomIdGenerator does.",
            *OWN_METRICS,
        ),
        "processors": (QUEUED, "Spans are queued as they are."),
        "methods": NOBODY,
    }


def test_the_global_provider_is_told(provide, put):
    """It is the one that most of the code uses."""
    provider, ways = provide()
    put.setattr(trace, "_TRACER_PROVIDER", provider)
    started(provider)
    (way,) = ways()

    assert way.provider == "service.0, the global provider"
    assert way.parts["processors"] == ("There are no processors.", "No processor handles ended spans.")


def test_copies_have_a_cause(provide):
    """The methods of the processors for which spans are copied."""
    provider, ways = provide(batch(), VendorProcessor())
    started(provider)
    (way,) = ways()

    assert way.parts["processors"] == (
        QUEUED,
        "VendorProcessor: on_start and on_end are called; _on_ending does nothing and is not called.",
        "Spans are copied because of VendorProcessor.on_end.",
    )


def test_a_method_that_is_set_on_a_processor_is_told(provide):
    """With the module of the code."""
    processor = batch()
    processor.on_end = theirs
    provider, ways = provide(processor)
    started(provider)
    (way,) = ways()

    assert way.parts["processors"][-1] == (
        f"Spans are copied because of BatchSpanProcessor.on_end, which was set on the object by {HERE}."
    )


def test_what_is_added_later_is_told(provide):
    """The status describes the next span, also before it is started."""
    provider, ways = provide(batch())
    tracer = started(provider)
    provider.add_span_processor(VendorProcessor())
    (way,) = ways()

    assert way.parts["processors"][-1] == "Spans are copied because of VendorProcessor.on_end."
    assert tracer.sampler is provider.sampler


def test_another_root_passes_the_spans_on(provide):
    """A processor of processors that is not stock's usual one is called as one."""
    provider, ways = provide(active_span_processor=sdk_trace.ConcurrentMultiSpanProcessor(1))
    started(provider)
    (way,) = ways()

    assert way.parts["processors"] == (
        "ConcurrentMultiSpanProcessor: on_start, _on_ending and on_end are called.",
        "Spans are copied because of ConcurrentMultiSpanProcessor.on_end.",
    )


SKIPPED = "ParentBased.should_sample is not called: its rule is applied here."


@pytest.mark.parametrize(
    ("sampler", "sentences"),
    [
        (VendorSampler(), ["VendorSampler.should_sample is called for every span."]),
        (
            sampling.ParentBased(VendorSampler()),
            [SKIPPED, "VendorSampler.should_sample is called for root spans."],
        ),
        (
            sampling.ParentBased(VendorSampler(), local_parent_sampled=VendorSampler()),
            [
                SKIPPED,
                "VendorSampler.should_sample is called for root spans.",
                "VendorSampler.should_sample is called for children of sampled spans.",
            ],
        ),
        (sampling.ALWAYS_OFF, ["StaticSampler.should_sample is not called: its rule is applied here."]),
    ],
)
def test_samplers(provide, sampler, sentences):
    """For which spans which sampler is called."""
    provider, ways = provide(sampler=sampler)
    started(provider)
    (way,) = ways()

    assert list(way.parts["start"][: len(sentences)]) == sentences


def test_id_generators(provide):
    """One that is not stock's, or whose method was replaced, is called."""
    replaced = RandomIdGenerator()
    replaced.generate_trace_id = RandomIdGenerator().generate_trace_id
    first, ways_of_first = provide(id_generator=VendorIds())
    second, ways_of_second = provide(id_generator=replaced)
    for each in (first, second):
        started(each)
    (one,), (other,) = ways_of_first(), ways_of_second()

    assert one.parts["start"][1] == "VendorIds is called for each id."
    assert other.parts["start"][1] == (
        "RandomIdGenerator is called for each id, which was set on the object by opentelemetry.sdk.trace.id_generator."
    )


def test_foreign_methods_are_named(provide, put):
    """Those in the place of ours, those around ours, and those that we never replace."""
    provider, ways = provide()
    started(provider)
    ours = sdk_trace.Span.record_exception

    @functools.wraps(ours)
    def record_exception(*args, **kwargs):
        return ours(*args, **kwargs)

    put.setattr(sdk_trace.Span, "add_event", theirs)
    put.setattr(sdk_trace.Span, "record_exception", record_exception)
    put.setattr(sdk_trace.ReadableSpan, "to_json", theirs)
    (way,) = ways()

    assert set(way.parts["methods"]) == {
        f"Span.add_event was replaced by {HERE}.",
        f"Span.record_exception was wrapped by {HERE}, which calls the one of otel-fastpath.",
        f"ReadableSpan.to_json was replaced by {HERE}.",
    }
    assert way.served_by == "otel-fastpath"


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        *((sdk_trace.ReadableSpan, "__init__"), (sdk_trace.Span, "_new_links"), (sdk_trace.Span, "start")),
        (sdk_trace, "_Span"),
    ],
)
def test_stock_serves_what_rests_on_a_foreign_method(provide, put, owner, name):
    """A tracer that had a plan, and for a tracer that never had one the reason that holds for all."""
    provider, ways = provide(batch())
    tracer = started(provider)
    reason = (f"OpenTelemetry starts the spans: {owner.__name__}.{name} was replaced by {HERE}.",)
    put.setattr(owner, name, theirs)
    (way,) = ways()

    assert (way.served_by, way.parts["start"]) == ("OpenTelemetry", reason)
    put.undo()
    tracer.start_span("again").end()
    assert ways()[0].served_by == "otel-fastpath"


def test_stock_serves_all_if_none_has_a_plan(instrumented, core, put):
    """Then no tracer is known, and the reason is told for every provider."""
    put.setattr(sdk_trace.ReadableSpan, "__init__", theirs)
    instrumented.uninstrument()
    assert instrumented.status().tracers == ()
    instrumented.instrument(core=core)
    (way,) = instrumented.status().tracers

    assert (way.provider, way.tracers, way.served_by) == ("every provider", (), "OpenTelemetry")
    assert way.parts["start"][0].startswith("OpenTelemetry starts the spans: Tracer.start_span is not patched")


def test_the_end_can_be_left_to_stock_alone(provide, put):
    """If somebody makes the read-only span, the start stays as it is."""
    provider, ways = provide(batch())
    started(provider)
    put.setattr(sdk_trace.Span, "_readable_span", theirs)
    (way,) = ways()

    assert way.served_by == "otel-fastpath"
    assert way.parts["processors"] == (
        "BatchSpanProcessor: on_start does nothing and is not called.",
        f"Spans are ended as OpenTelemetry does: Span._readable_span was replaced by {HERE}.",
    )


@pytest.mark.parametrize("is_patched", [True, False])
def test_a_start_that_is_not_ours(provide, put, instrumented, core, is_patched):
    """Somebody replaced Tracer.start_span, or a setting leaves it as it is."""
    provider, ways = provide()
    tracer = started(provider)
    if is_patched:
        put.setattr(sdk_trace.Tracer, "start_span", theirs)
        (way,) = ways()
        assert way.tracers == ("app",)
        told = f"was replaced by {HERE}"
    else:
        instrumented.uninstrument()
        instrumented.instrument(core=core, disabled="tracer.start_span")
        (way,) = instrumented.status().tracers
        told = "is not patched"

    assert way.parts["start"] == (f"OpenTelemetry starts the spans: Tracer.start_span {told}.",)
    assert tracer is not None


def test_a_tracer_with_a_start_of_its_own(provide):
    """The reason is that of this tracer alone."""
    provider, ways = provide()
    started(provider, "ours")
    started(provider, "theirs").start_span = theirs
    one, other = sorted(ways(), key=lambda way: way.tracers)

    assert (one.tracers, one.served_by) == (("ours",), "otel-fastpath")
    assert (other.tracers, other.served_by) == (("theirs",), "OpenTelemetry")
    assert other.parts["start"] == (f"OpenTelemetry starts the spans: start_span was set on the tracer, by {HERE}.",)


def test_server_spans_of_the_profile_are_told_apart(provide):
    """A processor that handles server and consumer spans only costs the others nothing."""
    processor = VendorProcessor()
    type(processor).for_server_spans = True
    try:
        provider, ways = provide(batch(), processor)
        started(provider)
        (way,) = ways()
    finally:
        del type(processor).for_server_spans

    assert way.parts["processors"] == (
        QUEUED,
        (
            "VendorProcessor, for server and consumer spans only: on_start and on_end are called; "
            "_on_ending does nothing and is not called."
        ),
        "Spans are queued as they are.",
        "Server and consumer spans: Spans are copied because of VendorProcessor.on_end.",
    )


def test_a_status_that_fails_is_counted(instrumented, provide, no_faults, put):
    """The rows are there all the same."""
    from otel_fastpath.trace.planning import explain_tracers

    provider, _ = provide()
    started(provider)
    put.setattr(explain_tracers, "stages_of_start", theirs)
    report = instrumented.status()

    assert len(report) > 0
    assert report.tracers == ()
    assert no_faults.counts() == {"status": 1}
