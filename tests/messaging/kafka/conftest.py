"""What the tests of Kafka's messages share: clients without a broker, and what was emitted."""

from __future__ import annotations

from collections import namedtuple
from contextlib import contextmanager
from types import SimpleNamespace

import aiokafka
import kafka
import pytest
from aiokafka.structs import ConsumerRecord
from message_telemetry import MessageTelemetry
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor
from opentelemetry.instrumentation.kafka import KafkaInstrumentor

from otel_fastpath.messaging.aiokafka import patches as aiokafka_patches
from otel_fastpath.messaging.kafka_python import patches as kafka_patches

PATCHES = {"kafka_python.hooks": kafka_patches.HOOKS, "aiokafka.hooks": aiokafka_patches.HOOKS}
INSTRUMENTORS = {"kafka_python.hooks": KafkaInstrumentor, "aiokafka.hooks": AIOKafkaInstrumentor}
Received = namedtuple("Received", "topic partition offset key value headers")  # noqa: PYI024  # as kafka-python's


@pytest.fixture
def ours(instrumented, no_faults):
    """The hooks of stock run this package's; there must be no fault."""
    assert set(states(instrumented).values()) == {("applied", "")}
    yield instrumented
    for kind in INSTRUMENTORS.values():
        if kind().is_instrumented_by_opentelemetry:
            kind().uninstrument()
    assert no_faults.counts() == {}


def states(instrumentor):
    """The patches', by name."""
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status() if row.name in PATCHES}


@contextmanager
def stock_hooks():
    """Stock's hooks that are there run their own code meanwhile."""
    for hooks in PATCHES.values():
        hooks.diversions.undo()
    try:
        yield
    finally:
        for hooks in PATCHES.values():
            hooks.divert()


class Broker:
    """In the place of a broker and of all that a client does to reach it.

    Attributes:
        sent: What came to the methods of clients that send.
        during: Called while they send.
        error: What they raise, or None.
        received: What those that receive return next.
    """

    def __init__(self):
        self.sent, self.received = [], []
        self.during = self.error = None

    def send(self, instance, args, kwargs):
        """Keep a message."""
        self.sent.append((args, kwargs))
        if self.during is not None:
            self.during()
        if self.error is not None:
            raise self.error
        return getattr(instance, "future", None)

    def receive(self):
        """The next one."""
        found = self.received.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found


@pytest.fixture
def broker(monkeypatch):
    """The methods of the clients that stock wraps go to it."""
    made = Broker()

    def send(self, *args, **kwargs):
        return made.send(self, args, kwargs)

    async def send_soon(self, *args, **kwargs):
        return made.send(self, args, kwargs)

    async def get(_self, *_partitions, **_more):
        return made.receive()

    monkeypatch.setattr(kafka.KafkaProducer, "send", send)
    monkeypatch.setattr(kafka.KafkaConsumer, "__next__", lambda _self: made.receive())
    monkeypatch.setattr(aiokafka.AIOKafkaProducer, "send", send_soon)
    monkeypatch.setattr(aiokafka.AIOKafkaProducer, "_partition", lambda self, *_: self.partition)
    for name in ("getone", "getmany"):
        monkeypatch.setattr(aiokafka.AIOKafkaConsumer, name, get)
    # Clients that were never started have nothing to say when they are collected.
    for kind in (kafka.KafkaProducer, aiokafka.AIOKafkaProducer, aiokafka.AIOKafkaConsumer):
        monkeypatch.setattr(kind, "__del__", lambda _self: None, raising=False)
    return made


class Client:
    """In the place of aiokafka's own."""

    def __init__(self, servers, name):
        self._bootstrap_servers, self._client_id = servers, name

    async def _wait_on_metadata(self, topic):
        """Know every topic but one."""
        if topic == "nowhere":
            raise LookupError(topic)


def client(kind, servers="broker:9092", name="shop-1", **fields):
    """A client of this class, without a connection."""
    made = kind.__new__(kind)
    own = Client(servers, name)
    given = {"config": {"bootstrap_servers": servers}, "client": own, "_client": own, "_group_id": "billing"}
    serializers = {"_key_serializer": None, "_value_serializer": None, "partition": 1, "_closed": True}
    vars(made).update({**given, **serializers, "future": future(("orders", 1)), **fields})
    return made


def future(place):
    """What kafka-python returns of a message that is sent."""
    return SimpleNamespace(_produce_future=SimpleNamespace(topic_partition=place))


def record(topic="orders", key=None, headers=(), partition=1, offset=7, value=b"{}"):
    """A message of aiokafka's."""
    sizes = {"checksum": None, "serialized_key_size": 0, "serialized_value_size": 0}
    return ConsumerRecord(topic, partition, offset, 0, 0, key, value, headers=headers, **sizes)


class Telemetry(MessageTelemetry):
    """A provider, and what arrived of both libraries."""

    instrumentors = tuple(INSTRUMENTORS.values())
