"""Random messages leave the same telemetry with stock's hooks and with this package's."""

# ruff: noqa: ARG001, D102, D105  # the fixture `ours` puts the hooks in their places; methods are an interface's

from __future__ import annotations

import asyncio
import contextvars

import aiokafka
import kafka
import message_contexts
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_contexts import PROPAGATORS, around
from opentelemetry import context, propagate, trace
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from own_tracers import OwnTracers

from .conftest import Received, Telemetry, client, future, record, stock_hooks

PARENT = message_contexts.PARENT.encode()


class Odd:
    """A key with a text of its own."""

    def __bool__(self):
        return False

    def __str__(self):
        return "odd"

    def __repr__(self):
        return "Odd()"


class Broken(Odd):
    """A key without one."""

    def __str__(self):
        raise ValueError("no text")


PAIRS = st.sampled_from(
    (
        ("x-tenant", b"shop"),
        ("traceparent", PARENT),
        ("traceparent", PARENT.replace(b"-01", b"-00")),
        ("traceparent", b"00-0"),
        ("traceparent", b"\xff\xfe"),
        ("traceparent", None),
        ("Traceparent", PARENT),
        ("tracestate", b"a=1,b=2"),
        ("baggage", b"user=bob"),
        ("broken", b"x"),
        ("empty", b""),
        ["traceparent", PARENT],
    )
)
HEADERS = st.one_of(st.just("none"), st.lists(PAIRS, max_size=3))
KEYS = st.sampled_from((None, b"order-1", b"\xff\x00", "text", 17, True, bytearray(b"x"), ("a", 1), Odd, Broken))
TOPICS = st.sampled_from(("orders", "orders", "\u00e4", "", "nowhere", 7))
PLACES = st.sampled_from((0, 1, None))
RECORDS = st.tuples(TOPICS, KEYS, HEADERS, PLACES)
STEPS = st.recursive(
    st.one_of(
        st.tuples(
            st.just("send"),
            TOPICS,
            KEYS,
            HEADERS,
            st.sampled_from((list, list, list, tuple)),
            st.sampled_from(("named", "positional", "mixed", "without")),
            st.sampled_from((None, None, LookupError("the broker's"), KeyboardInterrupt())),
        ),
        st.tuples(st.just("receive"), st.one_of(RECORDS, st.sampled_from((None, LookupError("gone"))))),
        st.tuples(st.just("receive_many"), st.lists(st.lists(RECORDS, max_size=3), max_size=3)),
    ),
    lambda inner: st.tuples(st.sampled_from(("span", "bag", "suppressed", "remote")), st.lists(inner, max_size=2)),
    max_leaves=4,
)
PROGRAMS = st.lists(STEPS, min_size=1, max_size=4)
SETTINGS = st.fixed_dictionaries(
    {
        "propagator": st.sampled_from(("usual", "usual", "usual", *sorted(PROPAGATORS))),
        "sampler": st.sampled_from((None, None, None, ALWAYS_OFF)),
        "most": st.sampled_from((None, None, 3)),
        "tracers": st.sampled_from(("sdk", "sdk", "sdk", "own", "none")),
        "hooks": st.sampled_from((None, None, "plain", "failing", "odd")),
        "servers": st.sampled_from(("broker:9092", ["a:1", 'b"\u00e4:2'], (), ["a", 1], None, {"a": {1}})),
        "place": st.sampled_from((("orders", 1), ("orders", None), ("orders",), None, ["orders", 2], 5)),
        "group": st.sampled_from(("billing", None)),
        "serializer": st.sampled_from((None, None, repr, lambda value: str(value).encode(), bytes.hex)),
        "is_aio": st.booleans(),
    }
)


class Run:
    """One run of a program."""

    def __init__(self, telemetry, broker, chosen):
        self.broker, self.chosen, self.happened = broker, chosen, []
        self.tracer = telemetry.tracers.get_tracer("application")
        broker.during = self.look
        fields = {"servers": chosen["servers"], "_group_id": chosen["group"], "partition": 1}
        fields |= {"_key_serializer": chosen["serializer"], "_value_serializer": chosen["serializer"]}
        kinds = (kafka.KafkaProducer, kafka.KafkaConsumer, aiokafka.AIOKafkaProducer, aiokafka.AIOKafkaConsumer)
        sent = future(chosen["place"])
        self.producer, self.consumer, self.aio_producer, self.aio_consumer = (
            client(kind, future=sent, **fields) for kind in kinds
        )

    def look(self):
        """What the application sees."""
        span = trace.get_current_span()
        self.happened.append((sorted(context.get_current()), getattr(span, "name", ""), span.is_recording()))

    def hooks(self):
        """The user's."""
        kind = self.chosen["hooks"]
        if kind is None:
            return {}
        if kind == "odd":
            return dict.fromkeys(("produce_hook", "consume_hook", "async_produce_hook", "async_consume_hook"), "none")

        def hook(span, *given):
            self.look()
            span.set_attribute("hooked", str(len(given)))
            if kind == "failing":
                raise LookupError("the hook's")

        async def async_hook(span, *given):
            hook(span, *given)

        plain = dict.fromkeys(("produce_hook", "consume_hook"), hook)
        return plain | dict.fromkeys(("async_produce_hook", "async_consume_hook"), async_hook)

    async def do(self, steps):
        for what, *rest in steps:
            if what in {"span", "bag", "suppressed", "remote"}:
                with around(self.tracer, what):
                    await self.do(*rest)
                continue
            try:
                found = getattr(self, what)(*rest)
                found = await found if asyncio.iscoroutine(found) else found
                self.happened.append(str(found))
            except BaseException as error:
                self.happened.append((type(error).__name__, str(error)))
            self.look()

    def send(self, topic, key, headers, form, how, error):
        key = key() if isinstance(key, type) else key
        headers = None if headers == "none" else form(headers)
        self.broker.error = error
        order = {"topic": topic, "value": b"{}", "key": key}
        order |= {"partition": 1, "timestamp_ms": None} if self.chosen["is_aio"] else {}
        named = {**order, "headers": headers}
        sending = self.aio_producer.send if self.chosen["is_aio"] else self.producer.send
        try:
            if how == "named":
                return sending(**named)
            if how == "positional":
                return sending(*named.values())
            if how == "without":
                return sending(topic, b"{}")
            return sending(topic, **{name: value for name, value in named.items() if name != "topic"})
        finally:
            self.happened.append(headers)

    def receive(self, drawn):
        found = self.made(drawn)
        self.broker.received.append(found)
        return self.aio_consumer.getone() if self.chosen["is_aio"] else next(self.consumer)

    def receive_many(self, batches):
        found = {aiokafka.TopicPartition(f"topic-{number % 2}", number): batch for number, batch in enumerate(batches)}
        self.broker.received.append({place: [self.made(each) for each in batch] for place, batch in found.items()})
        return self.aio_consumer.getmany()

    def made(self, drawn):
        """A message."""
        if drawn is None or isinstance(drawn, Exception):
            return drawn
        topic, key, headers, partition = drawn
        key = key() if isinstance(key, type) else key
        headers = None if headers == "none" else headers
        if self.chosen["is_aio"]:
            return record(topic, key, () if headers is None else tuple(headers), partition)
        return Received(topic, partition, 7, key, b"{}", headers)


def happens(chosen, program, broker, caplog):
    """What happens in the program."""
    given_ = {} if chosen["sampler"] is None else {"sampler": chosen["sampler"]}
    if chosen["most"] is not None:
        given_["span_limits"] = SpanLimits(max_attributes=chosen["most"])
    telemetry = Telemetry(**given_)
    caplog.clear()
    broker.sent.clear()
    broker.received.clear()
    run = Run(telemetry, broker, chosen)
    tracers = {"sdk": telemetry.tracers, "own": OwnTracers(telemetry.tracers), "none": trace.NoOpTracerProvider()}
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(PROPAGATORS[chosen["propagator"]]())
    try:
        yield telemetry.instrumented(tracers[chosen["tracers"]], **run.hooks())
        contextvars.Context().run(lambda: asyncio.run(run.do(program)))
    finally:
        propagate.set_global_textmap(before)
    logged = [(each.name, each.levelname, str(each.msg)) for each in caplog.records if "opentelemetry" in each.name]
    happened = telemetry.shown(run.happened), telemetry.shown(broker.sent)
    yield [*happened, telemetry.seen(), logged]


@pytest.mark.proves("kafka_python.hooks", "aiokafka.hooks")
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(chosen=SETTINGS, program=PROGRAMS)
def test_random_messages(ours, broker, caplog, chosen, program):
    """Spans, messages, results, exceptions, contexts and log records are the same."""
    caplog.set_level("DEBUG")
    run = happens(chosen, program, broker, caplog)
    with next(run):
        left = next(run)
    run = happens(chosen, program, broker, caplog)
    with next(run), stock_hooks():
        right = next(run)
    assert left == right
