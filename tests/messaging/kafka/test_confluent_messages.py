"""Messages of confluent-kafka: what runs in the place of stock's hooks, and when it steps back."""

from __future__ import annotations

import contextvars
import importlib
import inspect

import pytest
from confluent_kafka import Message
from executed_functions import executed
from message_contexts import PARENT
from opentelemetry import trace
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor

from otel_fastpath.messaging.confluent_kafka import stock_confluent
from otel_fastpath.messaging.confluent_kafka.patches import PATCHES as CONFLUENT_PATCHES

from .conftest import Telemetry

STOCK = "opentelemetry.instrumentation.confluent_kafka"
NAMES = ["orders send", "recv", "orders process", "recv", "orders process"]
# What stock's own code calls for each message.
OWN = {"_enrich_span", "_get_span_name", "_create_new_consume_span"}


class Client:
    """In the place of confluent-kafka's producer and consumer."""

    def __init__(self):
        self.config, self.during = {"bootstrap.servers": "broker:9092"}, None

    def produce(self, *_args, **_more):
        """Send one."""
        if self.during is not None:
            self.during()

    def poll(self, *_args):
        """Receive one."""
        return Message(topic="orders", value=b"{}", headers=[("traceparent", PARENT.encode())])

    def consume(self, *args):
        """Receive a list."""
        return [self.poll(*args)]

    def close(self):
        """Do nothing."""


def clients(telemetry, client=None):
    """A producer and a consumer."""
    client, instrumentor = client or Client(), ConfluentKafkaInstrumentor()
    tracers = telemetry and telemetry.tracers
    return instrumentor.instrument_producer(client, tracers), instrumentor.instrument_consumer(client, tracers)


def go_through(producer, consumer):
    """Send a message, receive one, and a list."""

    def work():
        producer.produce("orders", b"{}")
        assert consumer.poll().topic() == "orders"
        assert len(consumer.consume(1)) == 1
        consumer.close()

    contextvars.Context().run(work)


def states(instrumentor):
    """The patches', by name."""
    names = {patch.name for patch in CONFLUENT_PATCHES}
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status() if row.name in names}


def names(telemetry):
    """The names of the spans that have ended."""
    return sorted(span[0] for span in telemetry.seen())


def test_stock_does_none_of_it(instrumented, no_faults):
    """Its functions only hand on."""
    telemetry = Telemetry()
    both = clients(telemetry)
    go_through(*both)
    assert not OWN & set(executed(lambda: go_through(*both), STOCK))
    assert set(states(instrumented).values()) == {("applied", "")}
    assert names(telemetry) == sorted(NAMES * 2)
    assert no_faults.counts() == {}


def test_either_may_be_first_and_last(instrumentor, core):
    """Producers and consumers that were there before are affected, too; and what is taken away leaves stock's code."""
    telemetry = Telemetry()
    both = clients(telemetry)
    assert set(executed(lambda: go_through(*both), STOCK)) >= OWN
    instrumentor.instrument(core=core)
    assert not OWN & set(executed(lambda: go_through(*both), STOCK))
    instrumentor.uninstrument()
    assert set(executed(lambda: go_through(*both), STOCK)) >= OWN
    assert names(telemetry) == sorted(NAMES * 3)


@pytest.mark.parametrize("place", stock_confluent.HOOKED._first[: len(stock_confluent.CALLED)])
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(instrumented, no_faults, monkeypatch, place, is_before):
    """Also if that was there when the first message came; and the status names it."""
    both = clients(Telemetry())
    if not is_before:
        go_through(*both)
    module, _, name = place.partition(":")
    owner = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    name = name.rpartition(".")[2]
    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    called, original = [], getattr(owner, name)

    def replacement(*args, **kwargs):
        called.append(name)
        return original(*args, **kwargs)

    stored = owner.__dict__[name]
    try:
        setattr(owner, name, staticmethod(replacement) if is_static else replacement)
        # What the module of the hooks has imported by name is not what is replaced here.
        hooks = importlib.import_module(STOCK)
        if vars(hooks).get(name) is original:
            monkeypatch.setattr(hooks, name, replacement)
        go_through(*both)
        assert called
        assert any(name in reason for _, reason in states(instrumented).values())
    finally:
        setattr(owner, name, stored)
        monkeypatch.undo()
    assert set(states(instrumented).values()) == {("applied", "")}
    assert not OWN & set(executed(lambda: go_through(*both), STOCK))
    assert no_faults.counts() == {}


class LimitReached(Exception):  # noqa: N818  # as Celery's `SoftTimeLimitExceeded`
    """A time limit."""


def test_an_interruption_is_the_hosts(instrumented, no_faults):  # noqa: ARG001  # it puts the hooks in their places
    """A time limit that arrives while a message is sent is raised there, and is no fault."""
    telemetry, client = Telemetry(), Client()

    def raise_limit():
        raise LimitReached

    client.during = raise_limit
    with pytest.raises(LimitReached):
        clients(telemetry, client)[0].produce("orders", b"{}")
    (span,) = telemetry.finished()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert no_faults.counts() == {}
