"""What the tests of RabbitMQ's messages share: clients without a broker, and what was emitted."""

from __future__ import annotations

from types import SimpleNamespace

import aio_pika
import pika
import pytest
from message_telemetry import MessageTelemetry
from opentelemetry import trace
from opentelemetry.instrumentation.aio_pika import AioPikaInstrumentor
from opentelemetry.instrumentation.pika import PikaInstrumentor
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.channel import Channel
from rabbitmq_servers import MissingError, RabbitMQ
from stock_in_place import stock_in_place
from yarl import URL

from otel_fastpath.messaging.aio_pika import patches as aio_pika_patches
from otel_fastpath.messaging.pika import patches as pika_patches

PLACES = {patch.name: patch.target for patch in (*pika_patches.PATCHES, *aio_pika_patches.PATCHES)}
CLOSURES = (*pika_patches.CLOSURES.values(), aio_pika_patches.CALLBACKS)
DIVERSIONS = [made.diversions for made in (*CLOSURES, aio_pika_patches.HOOKS)]


@pytest.fixture
def ours(instrumented, no_faults):
    """The hooks of stock run this package's; there must be no fault."""
    assert set(states(instrumented).values()) == {("applied", "")}
    yield instrumented
    for kind in Telemetry.instrumentors:
        if kind().is_instrumented_by_opentelemetry:
            kind().uninstrument()
    assert no_faults.counts() == {}


def states(instrumentor):
    """The patches', by name."""
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status() if row.name in PLACES}


def stock_hooks():
    """Stock's own code runs for what is made and instrumented meanwhile."""
    return stock_in_place(PLACES.values())


class Telemetry(MessageTelemetry):
    """A provider, and what arrived."""

    instrumentors = (PikaInstrumentor, AioPikaInstrumentor)


def made(kind, **fields):
    """An object without connections."""
    found = kind.__new__(kind)
    for name, value in fields.items():
        setattr(found, name, value)
    return found


class Rabbit:
    """In the place of a broker and of all that a client does to reach it.

    Attributes:
        sent: What came to the methods of clients that send.
        during: Called while they send, and while a message is worked at.
        error: What both raise, or None.
    """

    def __init__(self):
        self.sent = []
        self.during = self.error = None

    def publish(self, *args, **more):
        """Keep a message."""
        self.sent.append((args, more))
        return self.work("sent")

    def work(self, *given):
        """What the application does with one."""
        if self.during is not None:
            self.during()
        if self.error is not None:
            raise self.error
        return given[-1]

    def channel(self, tracers, kind="blocking", publish_hook=None, consume_hook=None):
        """An instrumented channel of pika's, and what calls its consumer's callback."""
        parameters = pika.ConnectionParameters("rabbit")
        impl, consumer = SimpleNamespace(params=parameters), SimpleNamespace(on_message_callback=self.work)
        if kind == "blocking":
            own = made(BlockingChannel, _connection=made(BlockingConnection, _impl=impl))
        elif kind == "async":
            own = made(Channel, connection=impl)
        else:
            # One that another library has made, with or without an address.
            own = SimpleNamespace(connection=impl if kind == "other" else SimpleNamespace())
        own.basic_publish = self.publish
        tracer = trace.get_tracer("pika", tracer_provider=tracers)
        consumers = made(BlockingChannel, _consumer_infos={"tag": consumer})
        PikaInstrumentor._instrument_basic_publish(own, tracer, *given(publish_hook))
        PikaInstrumentor._instrument_channel_consumers(consumers, tracer, *given(consume_hook))
        return own, lambda *message: consumer.on_message_callback(own, *message)

    async def work_soon(self, message):
        """What the application does with one of aio-pika's."""
        return self.work(message)

    async def consumer(self, kind="plain"):
        """An exchange of aio-pika's, and what an instrumented queue calls for a message."""
        channel = aio_pika_channel(kind)
        exchange = made(aio_pika.Exchange, name="orders", channel=channel)
        return exchange, await made(aio_pika.Queue, channel=channel).consume(self.work_soon)


def aio_pika_channel(kind):
    """A channel, with connections of several kinds."""
    url = URL("amqp://shop:secret@rabbit:5673/" if kind == "robust" else "amqp://rabbit/")
    if kind == "odd":
        return SimpleNamespace(connection=SimpleNamespace(url=url))
    of = aio_pika.RobustConnection if kind == "robust" else aio_pika.Connection
    connection = SimpleNamespace() if kind == "without" else made(of, url=url)
    return made(aio_pika.Channel, _connection=connection)


def incoming(kind=aio_pika.IncomingMessage, exchange="orders", routing_key="new", **fields):
    """A message of aio-pika's that is received."""
    found = kind.__new__(kind)
    aio_pika.Message.__init__(found, b"{}", **fields)
    found.exchange, found.routing_key = exchange, routing_key
    return found


def given(hook):
    """A hook of the user's as an argument; without one, stock has its own."""
    return () if hook is None else (hook,)


@pytest.fixture
def rabbit(monkeypatch):
    """In the place of a broker."""
    found = Rabbit()

    async def publish(_self, *args, **more):
        return found.publish(*args, **more)

    async def consume(_self, callback):
        return callback

    monkeypatch.setattr(aio_pika.Exchange, "publish", publish)
    monkeypatch.setattr(aio_pika.Queue, "consume", consume)
    for kind in (aio_pika.Connection, aio_pika.RobustConnection):
        monkeypatch.setattr(kind, "__del__", lambda _self: None, raising=False)
    return found


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """A running broker."""
    try:
        found = RabbitMQ(tmp_path_factory.mktemp("rabbitmq"))
    except MissingError as error:
        pytest.skip(str(error))
    yield found
    found.stop()
