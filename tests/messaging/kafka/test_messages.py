"""Messages of Kafka: what runs in the place of stock's hooks, when it steps back, and what is kept."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import threading
import weakref

import aiokafka
import kafka
import pytest
import wrapt
from executed_functions import executed
from opentelemetry import context, trace
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor
from opentelemetry.instrumentation.kafka import KafkaInstrumentor
from opentelemetry.sdk.trace import Span, SpanProcessor
from opentelemetry.sdk.trace.sampling import Sampler

from otel_fastpath.messaging.aiokafka import stock_aiokafka
from otel_fastpath.messaging.kafka_python import stock_kafka

from .conftest import PATCHES, Received, Telemetry, client, record, states

PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STOCK = "opentelemetry.instrumentation"
NAMES = ["orders send", "orders receive", "orders send", "orders receive"]
# Each is sent and received once by each library; then a batch of two.
ALL = [*NAMES, "orders receive", "orders receive", "orders receive", "orders receive"]


def go_through(broker):
    """Send and receive with each library."""
    headers = [("traceparent", PARENT)]
    client(kafka.KafkaProducer).send("orders", b"{}", key=b"1")
    broker.received.append(Received("orders", 1, 7, b"1", b"{}", headers))
    next(client(kafka.KafkaConsumer))

    async def main():
        await client(aiokafka.AIOKafkaProducer).send("orders", b"{}", b"1")
        consumer = client(aiokafka.AIOKafkaConsumer)
        one = record(key=b"1", headers=tuple(headers))
        broker.received += [one, {aiokafka.TopicPartition("orders", 1): [one, one]}]
        await consumer.getone()
        await consumer.getmany()

    asyncio.run(main())


def names(telemetry):
    """The names of the spans that have ended."""
    return [span[0] for span in telemetry.seen()]


def test_stock_does_none_of_it(ours, broker):
    """Its functions only hand on."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        go_through(broker)
        found = executed(lambda: go_through(broker), STOCK)
    assert found == ["_traced_send", "_traced_next", "_traced_send", "_traced_getone", "_traced_getmany"]
    assert names(telemetry) == ALL * 2
    spans = telemetry.seen()
    remote = ("elsewhere", True)
    assert [span[-2] for span in spans[:5]] == [None, remote, None, remote, remote]
    assert [(headers[0][0], len(headers)) for headers in map(headers_of, broker.sent)] == [("traceparent", 1)] * 4


def headers_of(sent):
    """The headers of a message that was sent."""
    return sent[1]["headers"]


@pytest.mark.parametrize("was_first", [True, False])
def test_either_may_be_first_and_last(instrumentor, core, broker, was_first):
    """Instrumented before or after this package is, and no longer instrumented before or after it is taken away."""
    telemetry = Telemetry()
    given = {"tracer_provider": telemetry.tracers, "skip_dep_check": True}
    plain = kafka.KafkaProducer.send, aiokafka.AIOKafkaConsumer.getmany
    kinds = KafkaInstrumentor(), AIOKafkaInstrumentor()
    if was_first:
        for each in kinds:
            each.instrument(**given)
    instrumentor.instrument(core=core)
    if not was_first:
        for each in kinds:
            each.instrument(**given)
    assert set(states(instrumentor).values()) == {("applied", "")}
    assert "_enrich_span" not in executed(lambda: go_through(broker), STOCK)
    instrumentor.uninstrument()
    assert not [function for hooks in PATCHES.values() for function in hooks.diversions.diverted()]
    found = executed(lambda: go_through(broker), STOCK)
    assert {"_enrich_span", "_enrich_getone_span", "_enrich_send_span"} <= set(found)
    for each in kinds:
        each.uninstrument()
    assert (kafka.KafkaProducer.send, aiokafka.AIOKafkaConsumer.getmany) == plain
    go_through(broker)
    assert names(telemetry) == ALL * 2


@pytest.mark.parametrize("place", [*stock_kafka.CALLED, *stock_aiokafka.CALLED])
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, broker, monkeypatch, place, is_before):
    """Also if that was there when the first message came; and the status names it."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        if not is_before:
            go_through(broker)
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        name = name.rpartition(".")[2]
        called, stored = [], owner.__dict__[name]
        original = getattr(owner, name)
        is_static = isinstance(stored, staticmethod)

        def replacement(*args, **kwargs):
            called.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, staticmethod(replacement) if is_static else replacement)
        go_through(broker)
        assert called
        assert any(name in reason for _, reason in states(ours).values())
        monkeypatch.delattr(owner, name)
        setattr(owner, name, stored)
        assert set(states(ours).values()) == {("applied", "")}
        # The two libraries' hooks run this package's again.
        assert "_enrich_span" not in executed(lambda: go_through(broker), STOCK)


def test_methods_of_the_span_that_others_replace_are_called(ours, broker, monkeypatch):
    """Each attribute is set by itself then."""
    found, original = [], Span.set_attribute

    def set_attribute(self, key, value):
        found.append(key)
        original(self, key, value)

    with Telemetry().instrumented():
        go_through(broker)
        monkeypatch.setattr(Span, "set_attribute", set_attribute)
        go_through(broker)
    assert found.count("messaging.system") == len(ALL)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_vendors_wrapper(instrumentor, core, broker, is_before):
    """Around a method of the library, put there before or after this package: each runs once."""
    called, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        called.append(args)
        return wrapped(*args, **kwargs)

    plain = kafka.KafkaProducer.send
    if not is_before:
        instrumentor.instrument(core=core)
    with telemetry.instrumented():
        below = kafka.KafkaProducer.__dict__["send"]
        kafka.KafkaProducer.send = wrapt.FunctionWrapper(below, around)
        if is_before:
            instrumentor.instrument(core=core)
        assert "_enrich_span" not in executed(lambda: go_through(broker), STOCK)
        kafka.KafkaProducer.send = below
    assert kafka.KafkaProducer.send is plain
    assert called == [("orders", b"{}")]
    assert names(telemetry) == ALL


def test_the_list_of_headers_is_the_users(ours, broker):
    """As stock, it gets the header each time that it is sent; a tuple is left as it is, with stock's warning."""
    own = [("x-tenant", b"shop")]
    with Telemetry().instrumented():
        client(kafka.KafkaProducer).send("orders", b"{}", headers=own)
        client(kafka.KafkaProducer).send("orders", b"{}", headers=own)
        asyncio.run(client(aiokafka.AIOKafkaProducer).send("orders", b"{}", headers=own))
        asyncio.run(client(aiokafka.AIOKafkaProducer).send("orders", b"{}", headers=(own[0],)))
    assert [name for name, _ in own] == ["x-tenant", *["traceparent"] * 3]
    assert all(headers_of(each) is own for each in broker.sent[:3])
    assert headers_of(broker.sent[3]) == (own[0],)


def test_threads_do_not_mix(ours, broker):
    """Each thread's spans have its own parents."""
    telemetry = Telemetry()
    tracer = telemetry.tracers.get_tracer("application")

    def work(number):
        producer = client(kafka.KafkaProducer)
        for _ in range(20):
            with tracer.start_as_current_span(f"{number}"):
                producer.send(f"topic {number}", b"{}")

    with telemetry.instrumented():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    spans = telemetry.seen()
    assert len(spans) == 160
    assert all(spans[span[-2][0]][0] == span[0].split()[1] for span in spans if span[0].startswith("topic"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child(ours, broker):
    """A child has spans of its own."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        go_through(broker)
        child = os.fork()
        if not child:
            go_through(broker)
            os._exit(0 if len(telemetry.spans.get_finished_spans()) == 2 * len(ALL) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert names(telemetry) == ALL


def test_nothing_is_kept(ours, broker, unfrozen):
    """Neither a message nor a client is kept alive."""

    class Value:
        """A message's value."""

    with Telemetry().instrumented():
        value, producer = Value(), client(kafka.KafkaProducer, servers=["a:1", "b:2"])
        watched = weakref.ref(value), weakref.ref(producer)
        producer.send("orders", value)
        broker.received.append(Received("orders", 1, 7, None, value, [("traceparent", PARENT)]))
        next(client(kafka.KafkaConsumer))
        broker.sent.clear()
        broker.received.clear()
        del value, producer
        gc.collect()
        assert [each() for each in watched] == [None, None]


@pytest.mark.parametrize("place", ["metadata", "send", "receive"])
@pytest.mark.parametrize("how", ["cancelled", "abandoned"])
def test_a_coroutine_that_does_not_end(ours, broker, monkeypatch, how, place):
    """Where it waits, nothing is current, and what is sent has its span already; as with stock."""
    telemetry = Telemetry()

    async def wait(*_args, **_kwargs):
        await asyncio.sleep(60)

    for kind, name in ((aiokafka.AIOKafkaProducer, "send"), (aiokafka.AIOKafkaConsumer, "getone")):
        monkeypatch.setattr(kind, name, wait)

    async def main():
        producer, consumer = client(aiokafka.AIOKafkaProducer), client(aiokafka.AIOKafkaConsumer)
        if place == "metadata":
            producer.client._wait_on_metadata = wait
        coroutine = consumer.getone() if place == "receive" else producer.send("orders", b"{}")
        if how == "abandoned":
            coroutine.send(None)
            coroutine.close()
        else:
            task = asyncio.ensure_future(coroutine)
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert context.get_current() == {}

    with telemetry.instrumented():
        asyncio.run(main())
    assert names(telemetry) == (["orders send"] if place == "send" else [])


class LimitReached(Exception):  # noqa: N818  # as Celery's `SoftTimeLimitExceeded`
    """A time limit."""


def test_an_interruption_is_the_hosts(ours, broker, no_faults):
    """A time limit that arrives while a message is sent is raised there, and is no fault."""
    telemetry = Telemetry()

    def raise_limit():
        raise LimitReached

    broker.during = raise_limit
    with telemetry.instrumented(), pytest.raises(LimitReached):
        client(kafka.KafkaProducer).send("orders", b"{}")
    (span,) = telemetry.finished()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert no_faults.counts() == {}


def test_a_provider_that_is_set_later(ours, broker, monkeypatch):
    """The tracer is a proxy then: the first message finds the provider, and the next ones are quick."""
    telemetry = Telemetry()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    kinds = KafkaInstrumentor(), AIOKafkaInstrumentor()
    for each in kinds:
        each.instrument(skip_dep_check=True)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", telemetry.tracers)
    go_through(broker)
    assert "_create_consumer_span" not in executed(lambda: go_through(broker), STOCK)
    assert names(telemetry) == ALL * 2


@pytest.mark.parametrize("name", ["sampler", "processor"])
def test_an_iteration_that_ends_elsewhere(ours, broker, name, no_faults):
    """A sampler or processor with nothing more to say does not end the application's loop over its messages."""

    class Ending(Sampler, SpanProcessor):
        def should_sample(self, *_args, **_more):
            return next(iter(()))

        def on_start(self, *_args, **_more):
            next(iter(()))

        def get_description(self):
            return "ending"

    telemetry = Telemetry(**({"sampler": Ending()} if name == "sampler" else {}))
    if name == "processor":
        telemetry.tracers.add_span_processor(Ending())
    with telemetry.instrumented():
        broker.received += [Received("orders", 1, 7, b"1", b"{}", [])]
        with pytest.raises(RuntimeError, match="generator raised StopIteration"):
            list(client(kafka.KafkaConsumer))
        broker.received += [StopIteration()]
        assert list(client(kafka.KafkaConsumer)) == []
        broker.received += [{aiokafka.TopicPartition("orders", 1): [record()]}]
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            asyncio.run(client(aiokafka.AIOKafkaConsumer).getmany())
    assert no_faults.counts() == {}
