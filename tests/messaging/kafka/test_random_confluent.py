"""Random messages of confluent-kafka leave the same telemetry with stock's hooks and with this package's."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places; methods are an interface's

from __future__ import annotations

import contextvars

import pytest
from confluent_kafka import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_contexts import PARENT, PROPAGATORS, around
from opentelemetry import context, propagate, trace
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from own_tracers import OwnTracers
from stock_in_place import stock_in_place

from otel_fastpath.messaging.confluent_kafka.patches import PATCHES as CONFLUENT_PATCHES

from .conftest import Telemetry

PLACES = {patch.name: patch.target for patch in CONFLUENT_PATCHES}
VALUES = (
    PARENT.encode(),
    PARENT.encode(),
    PARENT.replace("-01", "-00").encode(),
    b"00-0",
    b"\xff\xfe",
    None,
)
PAIRS = st.one_of(
    st.tuples(st.just("traceparent"), st.sampled_from(VALUES)),
    st.sampled_from((("x-tenant", b"shop"), ("tracestate", b"a=1,b=2"), ("baggage", b"user=bob"), ("broken", b"x"))),
)
HEADERS = st.one_of(st.none(), st.lists(PAIRS, max_size=3))
TOPICS = st.sampled_from(("orders", "orders", "\u00e4", ""))
RECORDS = st.tuples(
    TOPICS, HEADERS, st.sampled_from((0, 1, None)), st.sampled_from((7, None)), st.sampled_from((b"{}", b""))
)
STEPS = st.recursive(
    st.one_of(
        st.tuples(
            st.just("send"),
            st.sampled_from(("orders", "orders", "\u00e4", "", 7, None)),
            HEADERS,
            st.sampled_from((list, list, dict, tuple)),
            st.sampled_from(("named", "positional", "short", "topic")),
            st.sampled_from((None, None, LookupError("the broker's"), KeyboardInterrupt())),
        ),
        st.tuples(st.just("poll"), st.one_of(RECORDS, st.sampled_from((None, LookupError("gone"))))),
        st.tuples(st.just("consume"), st.lists(RECORDS, max_size=3)),
        st.tuples(st.just("close")),
    ),
    lambda inner: st.tuples(st.sampled_from(("span", "bag", "suppressed", "remote")), st.lists(inner, max_size=2)),
    max_leaves=5,
)
PROGRAMS = st.lists(STEPS, min_size=1, max_size=5)
SERVERS = ("broker:9092", "a:1,b:2", " a:1 ", "a", "a:x", ":1", "", None, ["a:1", 2], "[::1]:9092", "a: 7")
SETTINGS = st.fixed_dictionaries(
    {
        "propagator": st.sampled_from(("usual", "usual", "usual", *sorted(PROPAGATORS))),
        "sampler": st.sampled_from((None, None, None, ALWAYS_OFF)),
        "most": st.sampled_from((None, None, 3)),
        "tracers": st.sampled_from(("sdk", "sdk", "sdk", "own", "none")),
        "config": st.one_of(st.none(), st.sampled_from(SERVERS).map(lambda servers: {"bootstrap.servers": servers})),
    }
)


class Client:
    """In the place of confluent-kafka's producer and consumer, which stock stands before."""

    def __init__(self, config):
        self.config, self.sent, self.received = config, [], []
        self.during = self.error = None

    def produce(self, *args, **more):
        """Keep a message."""
        self.sent.append((args, more))
        self.during()
        if self.error is not None:
            raise self.error

    def poll(self, *_args):
        """The next one, or several."""
        self.during()
        if isinstance(self.received, Exception):
            raise self.received
        return self.received

    consume = poll

    def close(self):
        """Do nothing."""
        self.during()


class Run:
    """One run of a program."""

    def __init__(self, telemetry, chosen, tracers):
        self.client, self.happened = Client(chosen["config"]), []
        self.client.during = self.look
        self.tracer = telemetry.tracers.get_tracer("application")
        instrumentor = ConfluentKafkaInstrumentor()
        self.producer = instrumentor.instrument_producer(self.client, tracers)
        self.consumer = instrumentor.instrument_consumer(self.client, tracers)

    def look(self):
        """What the application sees."""
        span = trace.get_current_span()
        self.happened.append((sorted(context.get_current()), getattr(span, "name", ""), span.is_recording()))

    def do(self, steps):
        """Run the steps."""
        for what, *rest in steps:
            if what in {"span", "bag", "suppressed", "remote"}:
                with around(self.tracer, what):
                    self.do(*rest)
                continue
            try:
                self.happened.append(type(getattr(self, what)(*rest)).__name__)
            except BaseException as error:
                self.happened.append((type(error).__name__, str(error)))
            self.look()
            with self.tracer.start_as_current_span("work"):
                pass

    def send(self, topic, headers, form, how, error):
        """Send a message."""
        headers = None if headers is None else form(headers)
        self.client.error = error
        try:
            if how == "named":
                return self.producer.produce(topic=topic, value=b"{}", headers=headers)
            if how == "positional":
                # As an instrumented class calls it: with all arguments in their places.
                args = (topic, b"{}", b"key", 1, None, 0, headers)
                return ConfluentKafkaInstrumentor.wrap_produce(
                    self.client.produce, self.producer, self.producer._tracer, args, {}
                )
            if how == "short":
                return self.producer.produce(topic)
            return ConfluentKafkaInstrumentor.wrap_produce(
                self.client.produce, self.producer, self.producer._tracer, (topic,), {"topic": "other"}
            )
        finally:
            self.happened.append(str(headers))

    def poll(self, drawn):
        """Receive one."""
        self.client.received = self.made(drawn)
        return self.consumer.poll(1)

    def consume(self, batch):
        """Receive several."""
        self.client.received = [self.made(each) for each in batch]
        return self.consumer.consume(10)

    def close(self):
        """Receive no more."""
        return self.consumer.close()

    @staticmethod
    def made(drawn):
        """A message."""
        if drawn is None or isinstance(drawn, Exception):
            return drawn
        topic, headers, partition, offset, value = drawn
        fields = {"topic": topic, "headers": headers, "partition": partition, "offset": offset, "value": value}
        return Message(**{name: field for name, field in fields.items() if field is not None})


def happens(chosen, program, caplog):
    """What happens in the program."""
    given_ = {} if chosen["sampler"] is None else {"sampler": chosen["sampler"]}
    if chosen["most"] is not None:
        given_["span_limits"] = SpanLimits(max_attributes=chosen["most"])
    telemetry = Telemetry(**given_)
    caplog.clear()
    tracers = {"sdk": telemetry.tracers, "own": OwnTracers(telemetry.tracers), "none": trace.NoOpTracerProvider()}
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(PROPAGATORS[chosen["propagator"]]())
    run = Run(telemetry, chosen, tracers[chosen["tracers"]])
    try:
        contextvars.Context().run(run.do, program)
    finally:
        propagate.set_global_textmap(before)
    if run.consumer._current_consume_span:
        run.consumer._current_consume_span.end()
    logged = [(each.name, each.levelname, str(each.msg)) for each in caplog.records if "opentelemetry" in each.name]
    return [telemetry.shown(run.happened), telemetry.shown(run.client.sent), telemetry.seen(), logged]


@pytest.mark.proves("confluent_kafka.produce", "confluent_kafka.poll", "confluent_kafka.consume")
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=PROGRAMS)
def test_random_messages(instrumented, no_faults, caplog, chosen, program):
    """Spans, messages, results, exceptions, contexts and log records are the same."""
    caplog.set_level("DEBUG")
    left = happens(chosen, program, caplog)
    with stock_in_place(PLACES.values()):
        right = happens(chosen, program, caplog)
    assert left == right
    assert no_faults.counts() == {}
