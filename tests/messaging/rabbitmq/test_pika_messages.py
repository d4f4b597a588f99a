"""Messages of pika: what runs in the place of stock's hooks, when it steps back, and what is kept."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import gc
import importlib
import os
import threading
import weakref

import pytest
import wrapt
from executed_functions import executed
from message_contexts import PARENT
from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import Span
from pika.adapters.blocking_connection import _ConsumerDeliveryEvt, _QueueConsumerGeneratorInfo
from pika.spec import Basic, BasicProperties

from otel_fastpath.messaging.pika import stock_pika

from .conftest import DIVERSIONS, Telemetry, states

STOCK = "opentelemetry.instrumentation"
NAMES = ["orders send", "orders receive", "orders receive"]
METHOD = Basic.Deliver("tag", 1, exchange="orders", routing_key="new")
# What stock's own code calls for each message.
OWN = {"_get_span", "_enrich_span", "_generate_span_name"}


def received():
    """The properties of a message that is received."""
    return BasicProperties(headers={"traceparent": PARENT}, message_id="one")


def go_through(found):
    """Send a message, receive one, and take the next."""
    channel, consume = found
    assert channel.basic_publish("orders", "new", b"{}") == "sent"
    assert consume(METHOD, received(), b"{}") == b"{}"
    pending = _QueueConsumerGeneratorInfo((), "tag").pending_events
    pending.append(_ConsumerDeliveryEvt(METHOD, received(), b"{}"))
    pending.popleft()
    with pytest.raises(IndexError):
        pending.popleft()


def names(telemetry):
    """The names of the spans that have ended."""
    return [span[0] for span in telemetry.seen()]


def test_stock_does_none_of_it(ours, rabbit):
    """Its functions only hand on."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        channel = rabbit.channel(telemetry.tracers)
        go_through(channel)
        found = executed(lambda: go_through(channel), STOCK)
    assert not OWN & set(found)
    assert names(telemetry) == NAMES * 2
    spans = telemetry.seen()
    assert [span[-2] for span in spans[:3]] == [None, ("elsewhere", True), ("elsewhere", True)]
    assert dict(spans[0][3]) == {
        "messaging.system": "rabbitmq",
        "messaging.temp_destination": True,
        "messaging.destination": "orders",
        "net.peer.name": "rabbit",
        "net.peer.port": 5672,
    }
    assert all(list(args[3].headers) == ["traceparent"] for args, _ in rabbit.sent)


@pytest.mark.parametrize("was_first", [True, False])
def test_either_may_be_first_and_last(instrumentor, core, rabbit, was_first):
    """Channels that were instrumented before this package was, too; and what is taken away leaves stock's code."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        channel = rabbit.channel(telemetry.tracers) if was_first else None
        instrumentor.instrument(core=core)
        channel = channel or rabbit.channel(telemetry.tracers)
        assert set(states(instrumentor).values()) == {("applied", "")}
        assert not OWN & set(executed(lambda: go_through(channel), STOCK))
        instrumentor.uninstrument()
        assert not [each for own in DIVERSIONS for each in own.diverted()]
        assert set(executed(lambda: go_through(channel), STOCK)) >= OWN
    assert names(telemetry) == NAMES * 2


@pytest.mark.parametrize("place", stock_pika.HOOKED._first[: len(stock_pika.CALLED) + 1])
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, rabbit, monkeypatch, place, is_before):
    """Also if that was there when the first message came; and the status names it."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        channel = rabbit.channel(telemetry.tracers)
        if not is_before:
            go_through(channel)
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        name = name.rpartition(".")[2]
        called, original = [], getattr(owner, name)

        def replacement(*args, **kwargs):
            called.append(name)
            return original(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(owner, name, replacement)
            go_through(channel)
            assert called
            assert any(name in reason for _, reason in states(ours).values())
        assert set(states(ours).values()) == {("applied", "")}
        assert not OWN & set(executed(lambda: go_through(channel), STOCK))


def test_methods_of_the_span_that_others_replace_are_called(ours, rabbit, monkeypatch):
    """Each attribute is set by itself then."""
    found, original = [], Span.set_attribute

    def set_attribute(self, key, value):
        found.append(key)
        original(self, key, value)

    telemetry = Telemetry()
    with telemetry.instrumented():
        channel = rabbit.channel(telemetry.tracers)
        go_through(channel)
        monkeypatch.setattr(Span, "set_attribute", set_attribute)
        go_through(channel)
    assert found.count("messaging.system") == len(NAMES)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_vendors_wrapper(instrumentor, core, rabbit, is_before):
    """Around a method of a channel, put there before or after stock's: each runs once."""
    called, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        called.append(args)
        return wrapped(*args, **kwargs)

    if is_before:
        rabbit.publish = wrapt.FunctionWrapper(rabbit.publish, around)
    instrumentor.instrument(core=core)
    with telemetry.instrumented():
        channel = rabbit.channel(telemetry.tracers)
        if not is_before:
            channel[0].basic_publish = wrapt.FunctionWrapper(channel[0].basic_publish, around)
        assert not OWN & set(executed(lambda: go_through(channel), STOCK))
    assert len(called) == 1
    assert names(telemetry) == NAMES


def test_the_properties_are_the_users(ours, rabbit):
    """As stock, they get the header, in the same dict."""
    headers = {"x-tenant": "shop"}
    properties, bare = BasicProperties(headers=headers), BasicProperties()
    telemetry = Telemetry()
    with telemetry.instrumented():
        channel, consume = rabbit.channel(telemetry.tracers)
        channel.basic_publish("orders", "new", b"{}", properties)
        consume(METHOD, bare, b"{}")
    assert rabbit.sent[0][0][3] is properties
    assert properties.headers is headers
    assert list(headers) == ["x-tenant", "traceparent"]
    assert bare.headers == {}


def test_a_consumer_that_fails(ours, rabbit):
    """Its exception is on the span, and the application's context is as before."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        _, consume = rabbit.channel(telemetry.tracers)
        rabbit.error = LookupError("no such order")
        with pytest.raises(LookupError):
            consume(METHOD, received(), b"{}")
    (span,) = telemetry.finished()
    assert span.status.description == "LookupError: no such order"
    assert [event.name for event in span.events] == ["exception"]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_consumer_that_is_suppressed(ours, rabbit, no_faults):
    """Stock ends the span that there is not, after the callback, and so it is here."""
    telemetry = Telemetry()
    with telemetry.instrumented(), suppress_instrumentation():
        channel, consume = rabbit.channel(telemetry.tracers)
        with pytest.raises(AttributeError, match="'end'"):
            consume(METHOD, BasicProperties(), b"{}")
        assert channel.basic_publish("orders", "new", b"{}") == "sent"
    assert telemetry.finished() == ()
    assert no_faults.counts() == {}


def test_threads_do_not_mix(ours, rabbit):
    """Each thread's spans have its own parents."""
    telemetry = Telemetry()
    tracer = telemetry.tracers.get_tracer("application")

    def work(number):
        channel, _ = rabbit.channel(telemetry.tracers)
        for _ in range(20):
            with tracer.start_as_current_span(f"{number}"):
                channel.basic_publish(f"orders {number}", "new", b"{}")

    with telemetry.instrumented():
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    spans = telemetry.seen()
    assert len(spans) == 160
    assert all(spans[span[-2][0]][0] == span[0].split()[1] for span in spans if span[0].startswith("orders"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child(ours, rabbit):
    """A child has spans of its own."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        channel = rabbit.channel(telemetry.tracers)
        go_through(channel)
        child = os.fork()
        if not child:
            go_through(channel)
            os._exit(0 if len(telemetry.spans.get_finished_spans()) == 2 * len(NAMES) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert names(telemetry) == NAMES


def test_nothing_is_kept(ours, rabbit, unfrozen):
    """Neither a message nor a channel is kept alive."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        channel, consume = rabbit.channel(telemetry.tracers)
        properties = received()
        channel.basic_publish("orders", "new", b"{}", properties)
        consume(METHOD, properties, b"{}")
        watched = weakref.ref(channel), weakref.ref(properties)
        rabbit.sent.clear()
        del channel, consume, properties
        gc.collect()
        assert [each() for each in watched] == [None, None]


class LimitReached(Exception):  # noqa: N818  # as Celery's `SoftTimeLimitExceeded`
    """A time limit."""


def test_an_interruption_is_the_hosts(ours, rabbit, no_faults):
    """A time limit that arrives while a message is sent or worked at is raised there, and is no fault."""
    telemetry = Telemetry()

    def raise_limit():
        raise LimitReached

    rabbit.during = raise_limit
    with telemetry.instrumented():
        channel, consume = rabbit.channel(telemetry.tracers)
        with pytest.raises(LimitReached):
            channel.basic_publish("orders", "new", b"{}")
        with pytest.raises(LimitReached):
            consume(METHOD, received(), b"{}")
    assert {span.status.status_code for span in telemetry.finished()} == {trace.StatusCode.ERROR}
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert no_faults.counts() == {}


def test_a_provider_that_is_set_later(ours, rabbit, monkeypatch):
    """The tracer is a proxy then: the first message finds the provider, and the next ones are quick."""
    telemetry = Telemetry()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    with telemetry.instrumented(tracer_provider=None):
        channel = rabbit.channel(None)
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", telemetry.tracers)
        go_through(channel)
        assert not OWN & set(executed(lambda: go_through(channel), STOCK))
    assert names(telemetry) == NAMES * 2
