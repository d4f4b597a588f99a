"""What is shed at each level, with both cores and without any: traces stay whole, and can be counted."""

import logging
from contextlib import suppress

import pytest
from newer_releases import sheds_spans
from opentelemetry import trace
from opentelemetry.sdk.trace import sampling
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision, ParentBased, Sampler, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from otel_fastpath.shedding import control
from otel_fastpath.shedding.thresholds import probability_of, randomness, threshold_in

ASGI = "opentelemetry.instrumentation.asgi"


class Picky(Sampler):
    """A user's own sampler, which does not follow the parent."""

    def should_sample(self, _parent_context, trace_id, *_more, **_keywords):
        """Drop what is odd."""
        return SamplingResult(Decision.DROP if trace_id % 2 else Decision.RECORD_AND_SAMPLE, {"picked": True})

    def get_description(self):
        """Its name."""
        return "Picky"


def thresholds(spans):
    """The thresholds in the trace states of these spans."""
    return {threshold_in(span.context.trace_state.get("ot") or "") for span in spans}


@sheds_spans
@pytest.mark.usefixtures("started")
def test_internal_spans_go_first(traced, driven):
    """Only those around messages of ASGI, which have no children: each other span is there, with its parent."""
    given = traced()
    given.requests(1, ASGI)
    guard = driven(given.provider)
    guard.spend(0.105, 5)
    given.requests(10, ASGI)
    given.requests(5)

    names = [span.name for span in given.spans()]
    assert guard.state.level == control.NO_INTERNAL_SPANS
    assert names.count("GET / http send") == 1 + 5
    assert names.count("work") == names.count("GET /") == 16
    assert thresholds(given.spans()) == {None}


@sheds_spans
@pytest.mark.usefixtures("started")
@pytest.mark.parametrize("sampler", [None, DEFAULT_ON, ALWAYS_ON], ids=["default", "ParentBased", "ALWAYS_ON"])
def test_traces_are_shed_whole_and_countable(traced, driven, sampler):
    """A trace is kept if its randomness is at least the threshold that each of its spans carries."""
    given = traced(sampler)
    guard = driven(given.provider, limit=0.1)
    guard.spend(0.25, 2)
    threshold = guard._shed.threshold
    assert 0.1 < probability_of(threshold) < 0.5

    ids = given.requests(600)
    spans = given.spans()
    kept = {each for each in ids if randomness(each, "") >= threshold}
    assert {span.context.trace_id for span in spans} == kept
    assert len(spans) == 3 * len(kept)
    assert thresholds(spans) == {threshold}
    assert guard._shed.counts()["trace"] == 600 - len(kept)
    # Six standard deviations.
    assert len(kept) / probability_of(threshold) == pytest.approx(600, abs=6 * (600 * 5) ** 0.5)


@sheds_spans
@pytest.mark.usefixtures("started")
def test_children_follow_also_when_the_probability_changes(traced, driven):
    """A trace that was begun is finished, and one that was shed gets no orphan."""
    given = traced(ALWAYS_ON)
    guard = driven(given.provider)
    tracer = given.tracer()
    guard.spend(0.25, 2)
    roots = [tracer.start_span("root") for _ in range(200)]
    guard.spend(0.9, 2)
    children = [tracer.start_span("child", trace.set_span_in_context(root)) for root in roots]
    guard.spend(0.0, 120)
    children += [tracer.start_span("child", trace.set_span_in_context(root)) for root in roots]

    states = [each.get_span_context().trace_flags.sampled for each in roots]
    assert True in states
    assert False in states
    assert [each.get_span_context().trace_flags.sampled for each in children[:200]] == states
    # Nothing is shed by now: the user's sampler decides alone again.
    assert guard.state.level == control.EVERYTHING
    assert all(each.get_span_context().trace_flags.sampled for each in children[200:])


@pytest.mark.usefixtures("started")
def test_a_sampled_caller_is_always_followed(traced, driven):
    """Its trace would break; and one that is not sampled is not revived."""
    given = traced()
    guard = driven(given.provider)
    guard.spend(0.9, 2)
    for flags, kept in ((1, 3 * 20), (0, 0)):
        before = len(given.spans())
        state = TraceState([("ot", "th:8"), ("other", "x")])
        for number in range(20):
            remote = SpanContext(1000 + number, 5, is_remote=True, trace_flags=TraceFlags(flags), trace_state=state)
            given.requests(1, context=trace.set_span_in_context(NonRecordingSpan(remote)))
        assert len(given.spans()) - before == kept
    assert {span.context.trace_state.to_header() for span in given.spans()} == {"ot=th:8,other=x"}


@sheds_spans
@pytest.mark.usefixtures("started")
def test_a_users_sampler_is_only_narrowed(traced, driven):
    """What it drops stays dropped, its attributes are kept, and no threshold claims a probability that is not known."""
    given = traced(Picky())
    guard = driven(given.provider)
    guard.spend(0.25, 2)
    tracer = given.tracer()
    for _ in range(400):
        tracer.start_span("root").end()
    spans = given.spans()

    assert spans
    assert all(span.context.trace_id % 2 == 0 for span in spans)
    assert all(randomness(span.context.trace_id, "") >= guard._shed.threshold for span in spans)
    assert {span.attributes["picked"] for span in spans} == {True}
    assert thresholds(spans) == {None}
    assert "adjusted counts are not known beside Picky" in guard.describe()


@sheds_spans
@pytest.mark.usefixtures("started")
def test_a_consistent_sampler_keeps_its_threshold(traced, driven):
    """The SDK's composite samplers write their own; the higher of the two thresholds counts."""
    experimental = pytest.importorskip("opentelemetry.sdk.trace._sampling_experimental")
    quarter = experimental.composite_sampler(experimental.composable_traceid_ratio_based(0.25))
    given = traced(ParentBased(quarter))
    guard = driven(given.provider, limit=0.1)
    guard.state = control.SheddingState(control.FEWER_TRACES, 0.5)
    guard._follow(guard.state)
    ids = given.requests(200)
    assert thresholds(given.spans()) == {threshold_in("th:c")}
    guard._follow(control.SheddingState(control.FEWER_TRACES, 0.125))
    ids = given.requests(200)
    kept = {each for each in ids if randomness(each, "") >= threshold_in("th:e")}
    assert {span.context.trace_id for span in given.spans()} >= kept
    assert thresholds(given.spans()) == {threshold_in("th:c"), threshold_in("th:e")} if kept else True
    assert "adjusted counts" not in guard.describe()


@sheds_spans
@pytest.mark.usefixtures("started")
def test_events_and_links_are_dropped_and_counted(traced, driven):
    """As the SDK drops those beyond its limits: each span tells how many."""
    given = traced()
    guard = driven(given.provider)
    tracer = given.tracer()
    guard._follow(control.SheddingState(control.NO_EVENTS, 1.0))
    other = SpanContext(5, 6, is_remote=False)
    with suppress(ValueError), tracer.start_as_current_span("span", links=[trace.Link(other)]) as span:
        span.add_event("event", {"a": 1})
        raise ValueError("no")
    (ended,) = given.spans()
    assert (ended.events, ended.links) == ((), ())
    assert (ended.dropped_events, ended.dropped_links) == (2, 1)
    assert ended.status.description == "ValueError: no"
    guard._follow(control.SheddingState())
    with tracer.start_as_current_span("span") as span:
        span.add_event("event")
    assert len(given.spans()[-1].events) == 1


def test_log_records_below_warning_are_refused(driven):
    """By OpenTelemetry's handlers only; the handlers of the service get everything."""
    handler = pytest.importorskip("opentelemetry.instrumentation.logging.handler")
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

    try:
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter as Exporter
    except ImportError:
        from opentelemetry.sdk._logs.export import InMemoryLogExporter as Exporter

    exporter, provider, own = Exporter(), LoggerProvider(), []
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = logging.getLogger("tests.guard.shed")
    logger.setLevel(logging.DEBUG)
    handlers = [handler.LoggingHandler(logger_provider=provider), logging.Handler()]
    handlers[1].emit = own.append
    for handler in handlers:
        logger.addHandler(handler)
    try:
        guard = driven()
        for state in (control.SheddingState(control.FEWER_LOGS), control.SheddingState()):
            guard._follow(state)
            logger.info("information")
            logger.warning("warning")
            logger.error("error")
    finally:
        for handler in handlers:
            logger.removeHandler(handler)
    found = [each.log_record.body for each in exporter.get_finished_logs()]
    assert found == ["warning", "error", "information", "warning", "error"]
    assert len(own) == 6
    assert guard._shed.counts()["log_record"] == 1
    assert handlers[0].filters == []


@sheds_spans
@pytest.mark.usefixtures("started")
def test_everything_is_put_back(traced, driven):
    """The very same samplers and limits, also of tracers that were made meanwhile, and of new ones."""
    user = ParentBased(Picky())
    given = traced(user)
    first, limits = given.tracer("first"), given.provider._span_limits
    guard = driven(given.provider)
    guard._follow(control.SheddingState(control.NO_EVENTS, 0.5))
    second = given.tracer("second")
    guard.spend(0.085)
    assert given.provider.sampler is not user
    assert second.sampler is not user
    guard.stop()

    third = given.tracer("third")
    assert all(each.sampler is user for each in (given.provider, first, second, third))
    assert all(each._span_limits is limits for each in (given.provider, first, second, third))


@sheds_spans
def test_what_others_set_meanwhile_stays(traced, driven):
    """A sampler that the service itself replaces while traces are shed is the new one to stand before."""
    given = traced()
    tracer = given.tracer()
    guard = driven(given.provider)
    guard._follow(control.SheddingState(control.FEWER_TRACES, 0.5))
    new = ParentBased(sampling.ALWAYS_OFF)
    tracer.sampler = new
    guard.spend(0.085)
    assert tracer.sampler is not new
    assert tracer.start_span("span").is_recording() is False
    guard.stop()
    assert tracer.sampler is new


def test_another_provider_is_left_alone(driven):
    """It is said in the status."""

    class Provider(trace.NoOpTracerProvider):
        sampler = None

    guard = driven(Provider())
    guard.spend(0.9, 10)
    assert Provider.sampler is None
    assert "Provider is not the SDK's tracer provider" in guard.describe()
    assert guard.state.level > control.EVERYTHING


@sheds_spans
@pytest.mark.usefixtures("started")
def test_an_error_does_not_bring_a_shed_trace_back(traced, driven):
    """A kept trace that fails stands for the shed ones that fail: its threshold was sent before."""
    given = traced()
    guard = driven(given.provider, limit=0.1)
    guard.spend(0.25, 2)
    tracer, failed = given.tracer(), []
    for _ in range(100):
        with suppress(ValueError), tracer.start_as_current_span("GET /") as span:
            failed.append(span.get_span_context().trace_id)
            raise ValueError("no")

    spans = given.spans()
    kept = [each for each in failed if randomness(each, "") >= guard._shed.threshold]
    assert 0 < len(kept) < 100
    assert [span.context.trace_id for span in spans] == kept
    assert {span.status.status_code for span in spans} == {trace.StatusCode.ERROR}
    assert thresholds(spans) == {guard._shed.threshold}
