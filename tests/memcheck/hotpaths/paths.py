"""The hot paths: what a host does thousands of times, each as a function that does it once."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from opentelemetry import baggage, trace
from opentelemetry import context as context_api
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import metric_exporter, trace_exporter
from opentelemetry.instrumentation import utils
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.b3 import B3MultiFormat, B3SingleFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.jaeger import JaegerPropagator
from opentelemetry.trace import Link, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from hotpaths import log_paths, naming  # noqa: F401  # the first adds its own
from hotpaths.naming import ATTRIBUTES, REMOTE, path

if TYPE_CHECKING:
    from hotpaths.given import Given

# Name -> function.
PATHS = naming.PATHS
_PROPAGATOR = TraceContextTextMapPropagator()
_PROPAGATORS = (
    CompositePropagator([_PROPAGATOR, W3CBaggagePropagator()]),
    W3CBaggagePropagator(),
    B3MultiFormat(),
    B3SingleFormat(),
    JaegerPropagator(),
    AwsXRayPropagator(),
)
_HEADERS = {"traceparent": f"00-{7:032x}-{8:016x}-01", "tracestate": "a=1"}
_ASK: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}


@path("span, current")
def _current(given: Given) -> None:
    with given.tracer.start_as_current_span("current", attributes=ATTRIBUTES):
        pass


@path("span, started and ended")
def _started(given: Given) -> None:
    given.tracer.start_span("started", attributes=ATTRIBUTES).end()


@path("span, child of a child")
def _children(given: Given) -> None:
    with given.tracer.start_as_current_span("a"), given.tracer.start_as_current_span("b") as span:
        span.get_span_context()


@path("span, not sampled")
def _not_sampled(given: Given) -> None:
    with given.dropping.start_as_current_span("dropped", attributes=ATTRIBUTES) as span:
        span.set_attribute("a", 1)
        span.get_span_context()


@path("span, remote parent")
def _remote(given: Given) -> None:
    with given.tracer.start_as_current_span("remote", context=given.remote):
        pass


@path("span, attributes of every type")
def _attributes(given: Given) -> None:
    with given.tracer.start_as_current_span("attributes") as span:
        span.set_attributes(ATTRIBUTES)
        span.set_attribute("mixed", [1, "2", None])
        span.set_attribute("unknown", object)
        span.set_attribute("bytes", b"bytes")


@path("span, events and links")
def _events(given: Given) -> None:
    span = given.tracer.start_span("events", links=[Link(REMOTE, {"a": 1})])
    span.add_event("happened", {"size": 512, "tags": ("a", "b")})
    span.add_link(REMOTE)
    span.set_status(StatusCode.ERROR, "described")
    span.end()


@path("span, read by its host")
def _read(given: Given) -> None:
    with given.tracer.start_as_current_span("read", attributes=ATTRIBUTES) as span:
        span.add_event("happened", {"a": 1})
        _ = dict(span.attributes), span.events, span.links, span.name, span.parent
        span.set_attribute("after", 1)


@path("span, limits")
def _limits(given: Given) -> None:
    with given.limited.start_as_current_span("limited", attributes=ATTRIBUTES, links=[Link(REMOTE)] * 3) as span:
        for number in range(5):
            span.set_attribute(f"number {number}", "a text that is too long")
            span.add_event("too many", {"a": 1, "b": 2, "c": 3})


@path("span, processor of the host's own")
def _own_processor(given: Given) -> None:
    with given.watched.start_as_current_span("watched", attributes=ATTRIBUTES):
        pass


@path("span, lazy value")
def _lazy(given: Given) -> None:
    from otel_fastpath.lazy import lazy

    with given.tracer.start_as_current_span("lazy") as span:
        span.set_attribute("made later", lazy(str, 4711))


@path("exception, recorded")
def _recorded(given: Given) -> None:
    with given.tracer.start_as_current_span("recorded") as span:
        try:
            given.fail(5)
        except LookupError as error:
            span.record_exception(error, {"a": 1})


@path("exception, through spans")
def _escaping(given: Given) -> None:
    with (
        contextlib.suppress(LookupError),
        given.tracer.start_as_current_span("a"),
        given.tracer.start_as_current_span("b"),
    ):
        given.fail(5)


@path("exception, counted")
def _counted(given: Given) -> None:
    for _ in range(3):
        with contextlib.suppress(LookupError):
            given.fail(3)


@path("propagation, extract")
def _extract(_given: Given) -> None:
    trace.get_current_span(_PROPAGATOR.extract(_HEADERS)).get_span_context()
    _PROPAGATOR.extract({"traceparent": "00-zz"})


@path("propagation, inject")
def _inject(given: Given) -> None:
    with given.tracer.start_as_current_span("injected"):
        _PROPAGATOR.inject({})


@path("propagation, all headers")
def _carried(given: Given) -> None:
    with given.tracer.start_as_current_span("carried"):
        context = baggage.set_baggage("size", 12, baggage.set_baggage("kéy ", "välue, 50%"))
        for each in _PROPAGATORS:
            carrier: dict[str, str] = {}
            each.inject(carrier, context)
            each.extract(carrier, Context())
            for name, value in carrier.items():
                for unusual in (
                    value[:-1],
                    value[1:],
                    f"{value},",
                    f"{value}%",
                    f"{value}%4",
                    f"{value};é",
                    value * 200,
                ):
                    each.extract({**carrier, name: unusual}, Context())


@path("contexts and baggage")
def _contexts(given: Given) -> None:
    span = given.tracer.start_span("in a context")
    context = trace.set_span_in_context(span, baggage.set_baggage("user", "ann"))
    token = context_api.attach(context_api.set_value("key", 1, context))
    trace.get_current_span()
    context_api.get_value("key")
    baggage.get_baggage("user")
    dict(baggage.get_all())
    context_api.detach(token)
    span.end()


@path("suppression")
def _suppressed(given: Given) -> None:  # noqa: ARG001  # as all others
    with utils.suppress_instrumentation(), utils.suppress_http_instrumentation():
        utils.is_instrumentation_enabled()
    utils.is_http_instrumentation_enabled()


@path("tracers and meters by name")
def _by_name(given: Given) -> None:
    trace.get_tracer("by name", "1.0", given.provider)
    given.meters.get_meter("by name", "1.0")


@path("metrics, exponential and observed")
def _exponential(given: Given) -> None:
    for amount in (0.5, 3, 0, -7.25, 1e300, 5e-324):
        given.exponential.record(amount, {"a": 1})
        given.exponential.record(amount)
    for each in given.readers_of_buckets:
        each.get_metrics_data()


@path("metrics, counters")
def _counters(given: Given) -> None:
    given.counter.add(1, ATTRIBUTES)
    given.up_down_counter.add(-1, {"a": 1})
    given.counter.add(1)


@path("metrics, histogram and gauge")
def _histogram(given: Given) -> None:
    given.histogram.record(0.5, ATTRIBUTES)
    given.gauge.set(7, {"a": 1})


@path("metrics, bound")
def _bound(given: Given) -> None:
    given.bound_counter.add(1)
    given.bound_histogram.record(0.5)


@path("metrics, in a span, with exemplars")
def _in_span(given: Given) -> None:
    with given.tracer.start_as_current_span("measured"):
        given.counter.add(1, ATTRIBUTES)
        given.histogram.record(0.5, ATTRIBUTES)


@path("metrics, collected")
def _collected(given: Given) -> None:
    given.counter.add(1, ATTRIBUTES)
    given.histogram.record(0.5, ATTRIBUTES)
    given.reader.get_metrics_data()


@path("metrics, collected oddly")
def _oddly(given: Given) -> None:
    given.collect_oddly()


@path("metrics, collected as deltas")
def _deltas(given: Given) -> None:
    given.delta_counter.add(1, {"a": 1})
    given.delta_histogram.record(0.5, {"a": 1})
    given.delta_reader.get_metrics_data()


@path("encoder, spans")
def _encode_spans(given: Given) -> None:
    # The exporter's own name for it: that one is patched.
    trace_exporter.encode_spans(given.ended).SerializePartialToString()


@path("encoder, metrics")
def _encode_metrics(given: Given) -> None:
    metric_exporter.encode_metrics(given.collected).SerializePartialToString()


@path("exporters, over HTTP")
def _exported(given: Given) -> None:
    given.span_exporter.export(given.ended)
    given.metric_exporter.export(given.collected)


@path("DB-API, the stock instrumentation's queries")
def _other_queries(given: Given) -> None:
    given.dbapi.execute("SELECT 1 WHERE 1 = ?", (1,)).fetchall()


@path("asyncpg, queries")
def _queries(given: Given) -> None:
    import bench_asyncpg

    for call in (bench_asyncpg.fetchrow, bench_asyncpg.fetch, bench_asyncpg.executemany, bench_asyncpg.transaction):
        call(given.asyncpg)


@path("asyncpg, statements, cursors, pools")
def _statements(given: Given) -> None:
    import bench_asyncpg

    for call in (bench_asyncpg.prepare, bench_asyncpg.statement_fetch, bench_asyncpg.cursor, bench_asyncpg.pool):
        call(given.asyncpg)


@path("OpenAI, call")
def _chat(given: Given) -> None:
    given.openai.chat.completions.create(**_ASK)


@path("OpenAI, call that fails")
def _refused(given: Given) -> None:
    import openai

    with contextlib.suppress(openai.NotFoundError):
        given.openai.chat.completions.create(model="gone", messages=_ASK["messages"])


@path("OpenAI, stream")
def _stream(given: Given) -> None:
    for _ in given.openai.chat.completions.create(**_ASK, stream=True):
        pass


@path("guard, calls that are counted and timed")
def _guarded(_given: Given) -> None:
    from otel_fastpath.shedding import layer

    def hook(_self: object, *args: Any, **keywords: Any) -> Any:
        return keywords.get("fails", 1) / (len(args) - 1)

    made, counter = layer.lay(hook, lambda args, keywords: hook(*args, **keywords), 2)
    kind = type("Kind", (), {"hook": made})
    for _ in range(2):
        counter.left = 2
        for call in (kind().hook, lambda *args, **keywords: kind.hook(None, *args, **keywords)):
            call("a", [], fails=512)
            with contextlib.suppress(ZeroDivisionError):
                call("a")
    made.inert = True
    _ = made.__name__, made.__wrapped__, made("a", "b", "c")


@path("profile, of spans")
def _profiled(given: Given) -> None:
    from otel_fastpath.profile import profiling

    with profiling(250):
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            with given.tracer.start_as_current_span("profiled", attributes=ATTRIBUTES):
                pass
