"""The layers over functions that libraries keep: they go when these go, and come off."""

import gc
import weakref

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_fastpath import FastpathInstrumentor, compiled
from otel_fastpath.shedding.timed_hooks import TimedHooks

pytest.importorskip("pika")
from opentelemetry.instrumentation.pika import utils  # after the check
from pika.spec import Basic, BasicProperties


@pytest.fixture(autouse=True)
def ours(core):
    """This package's hooks."""
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument(core=core, disabled="exceptions")
    yield
    instrumentor.uninstrument()
    compiled.choose(None)


class Consumer:
    """An application's consumer, whose callback's closure refers to it, and it to the closure."""

    def __init__(self):
        tracer = TracerProvider(shutdown_on_exit=False).get_tracer("pika")
        self.bodies = []
        self.callback = utils._decorate_callback(self.take, tracer, "orders", utils.dummy_callback)

    def take(self, _channel, _method, _properties, body):
        """Keep what was received."""
        self.bodies.append(body)

    def receive(self, body):
        """Receive a message."""
        self.callback(None, Basic.GetOk(), BasicProperties(), body)


def test_the_layer_goes_with_the_closure():
    """Though it refers to the closure."""
    hooks, consumer = TimedHooks(), Consumer()
    hooks.lay()
    assert "pika.callback" in hooks.prices()
    gone = weakref.ref(consumer)
    del consumer
    gc.collect()
    assert gone() is None
    assert "pika.callback" not in hooks.prices()
    hooks.lift()


def test_the_layer_comes_off():
    """Calls are passed on with it and without it."""
    hooks, consumer = TimedHooks(), Consumer()
    hooks.lay()
    consumer.receive(b"a")
    assert hooks.prices()["pika.callback"][0] == 1
    hooks.lift()
    consumer.receive(b"b")
    assert consumer.bodies == [b"a", b"b"]
    hooks.lay()
    assert hooks.prices()["pika.callback"][0] == 0
    hooks.lift()
