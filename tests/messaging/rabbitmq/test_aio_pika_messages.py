"""Messages of aio-pika: what runs in the place of stock's hooks, when it steps back, and what is kept."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import weakref

import aio_pika
import pytest
import wrapt
from executed_functions import executed
from message_contexts import PARENT
from opentelemetry import context, trace
from opentelemetry.instrumentation.utils import suppress_instrumentation

from otel_fastpath.messaging.aio_pika import stock_aio_pika

from .conftest import DIVERSIONS, Telemetry, incoming, states

STOCK = "opentelemetry.instrumentation.aio_pika"
NAMES = ["orders,new send", "orders receive"]
PLACES = stock_aio_pika.HOOKED._first[: len(stock_aio_pika.CALLED) + 2]


def received():
    """A message that is received."""
    return incoming(headers={"traceparent": PARENT}, message_id="one")


async def go_through(exchange, callback):
    """Send a message, and receive one."""
    assert await exchange.publish(aio_pika.Message(b"{}"), "new") == "sent"
    assert (await callback(received())).message_id == "one"


def ran(rabbit):
    """The functions of stock's that run for a message that is sent by a new exchange, and one that is received."""
    found = asyncio.run(rabbit.consumer())
    return set(executed(lambda: asyncio.run(go_through(*found)), STOCK))


def names(telemetry):
    """The names of the spans that have ended."""
    return [span[0] for span in telemetry.seen()]


def test_stock_does_none_of_it(ours, rabbit):
    """Its functions only hand on."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        found = ran(rabbit)
    assert not builds(found)
    assert names(telemetry) == NAMES
    sent, got = telemetry.seen()
    assert (sent[-2], got[-2]) == (None, ("elsewhere", True))
    assert dict(got[3]) == {
        "messaging.system": "rabbitmq",
        "messaging.destination": "orders",
        "net.peer.name": "rabbit",
        "net.peer.port": 5672,
        "messaging.message.id": "one",
        "messaging.operation": "receive",
    }


def builds(found):
    """Whether stock's own code has run."""
    return "build" in {name.rpartition(".")[2] for name in found}


@pytest.mark.parametrize("was_first", [True, False])
def test_either_may_be_first_and_last(instrumentor, core, rabbit, was_first):
    """Also for consumers that were there before; and what is taken away leaves stock's code."""
    telemetry = Telemetry()
    if not was_first:
        instrumentor.instrument(core=core)
    with telemetry.instrumented():
        before = asyncio.run(rabbit.consumer())
        if was_first:
            instrumentor.instrument(core=core)
        assert set(states(instrumentor).values()) == {("applied", "")}
        assert not builds(ran(rabbit))
        assert not builds(executed(lambda: asyncio.run(go_through(*before)), STOCK))
        instrumentor.uninstrument()
        assert not [each for own in DIVERSIONS for each in own.diverted()]
        assert builds(ran(rabbit))
        assert builds(executed(lambda: asyncio.run(go_through(*before)), STOCK))
    assert names(telemetry) == NAMES * 4


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, rabbit, monkeypatch, place, is_before):
    """Also if that was there when the first message came; and the status names it."""
    with Telemetry().instrumented():
        if not is_before:
            ran(rabbit)
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
            ran(rabbit)
            assert called
            assert any(name in reason for _, reason in states(ours).values())
        assert set(states(ours).values()) == {("applied", "")}
        assert not builds(ran(rabbit))


@pytest.mark.parametrize("is_before", [True, False])
def test_a_vendors_wrapper(instrumentor, core, rabbit, is_before):
    """Around a method of the library, put there before or after this package: each runs once."""
    called, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        called.append(args)
        return wrapped(*args, **kwargs)

    if not is_before:
        instrumentor.instrument(core=core)
    with telemetry.instrumented():
        below = aio_pika.Exchange.__dict__["publish"]
        aio_pika.Exchange.publish = wrapt.FunctionWrapper(below, around)
        if is_before:
            instrumentor.instrument(core=core)
        assert not builds(ran(rabbit))
        aio_pika.Exchange.publish = below
    assert len(called) == 1
    assert names(telemetry) == NAMES


def test_a_consumer_that_fails(ours, rabbit):
    """Its exception is on the span, and the application's context is as before."""
    telemetry = Telemetry()

    async def main():
        _, callback = await rabbit.consumer()
        rabbit.error = LookupError("no such order")
        with pytest.raises(LookupError):
            await callback(received())
        assert context.get_current() == {}

    with telemetry.instrumented():
        asyncio.run(main())
    (span,) = telemetry.finished()
    assert span.status.description == "LookupError: no such order"


def test_suppressed(ours, rabbit):
    """There are no spans."""
    telemetry = Telemetry()
    with telemetry.instrumented(), suppress_instrumentation():
        ran(rabbit)
    assert telemetry.finished() == ()


@pytest.mark.parametrize("what", ["publish", "receive"])
@pytest.mark.parametrize("how", ["cancelled", "abandoned"])
def test_a_coroutine_that_does_not_end(ours, rabbit, monkeypatch, how, what):
    """Its span ends with it, and nothing stays current."""
    telemetry = Telemetry()

    async def wait(*_args, **_more):
        await asyncio.sleep(60)

    monkeypatch.setattr(aio_pika.Exchange, "publish", wait)
    rabbit.work_soon = wait

    async def main():
        exchange, callback = await rabbit.consumer()
        coroutine = callback(received()) if what == "receive" else exchange.publish(aio_pika.Message(b"{}"), "new")
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
    assert names(telemetry) == [NAMES[what == "receive"]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child(ours, rabbit):
    """A child has spans of its own."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        ran(rabbit)
        child = os.fork()
        if not child:
            ran(rabbit)
            os._exit(0 if len(telemetry.spans.get_finished_spans()) == 2 * len(NAMES) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert names(telemetry) == NAMES


def test_nothing_is_kept(ours, rabbit, unfrozen):
    """Neither a message, an exchange, a queue nor its callback is kept alive."""

    async def main():
        exchange, callback = await rabbit.consumer()
        message = received()
        await callback(message)
        await exchange.publish(aio_pika.Message(b"{}"), "new")
        return weakref.ref(callback), weakref.ref(exchange.channel)

    with Telemetry().instrumented():
        watched = asyncio.run(main())
        rabbit.sent.clear()
        gc.collect()
        assert [each() for each in watched] == [None, None]


class LimitReached(Exception):  # noqa: N818  # as Celery's `SoftTimeLimitExceeded`
    """A time limit."""


def test_an_interruption_is_the_hosts(ours, rabbit, no_faults):
    """A time limit that arrives while a message is sent or worked at is raised there, and is no fault."""
    telemetry = Telemetry()

    def raise_limit():
        raise LimitReached

    async def main():
        exchange, callback = await rabbit.consumer()
        with pytest.raises(LimitReached):
            await exchange.publish(aio_pika.Message(b"{}"), "new")
        with pytest.raises(LimitReached):
            await callback(received())

    rabbit.during = raise_limit
    with telemetry.instrumented():
        asyncio.run(main())
    assert {span.status.status_code for span in telemetry.finished()} == {trace.StatusCode.ERROR}
    assert no_faults.counts() == {}
