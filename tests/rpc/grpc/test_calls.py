"""Calls of gRPC through real servers on loopback: the telemetry is stock's, and who else is there."""

# ruff: noqa: ARG001  # the fixture `ours` puts the functions in their places

from __future__ import annotations

import asyncio
import gc
import os
import time

import grpc
import pytest
from executed_functions import executed
from opentelemetry import context, trace
from opentelemetry.instrumentation.grpc import (
    filters,
)
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from opentelemetry.instrumentation.utils import suppress_instrumentation

from . import called
from .called import DETAILS, KINDS, AioThread, Context, aio_call, aio_serving, call, serving
from .conftest import NAMES, Telemetry, stock_functions

REQUESTS = (b"ok", b"abort:NOT_FOUND", b"abort:INTERNAL", b"raise:shop", b"plain:shop", b"code:UNAVAILABLE")
REQUESTS += (b"details:DATA_LOSS", b"attribute:x", b"late:shop")


def both(run):
    """What happens with this package's functions, which must be what happens with stock's."""
    left = run()
    with stock_functions():
        right = run()
    assert left == right
    return left


def through_sync(kind, request):
    """A call of a client and a server that are instrumented."""
    telemetry = Telemetry()
    with serving(telemetry.server()) as address, grpc.insecure_channel(address) as plain:
        channel = intercept_channel(plain, telemetry.client())
        with telemetry.tracers.get_tracer("shop").start_as_current_span("order"):
            result = call(channel, kind, request, metadata=(("x-tenant", "shop"),), timeout=10)
        telemetry.wait_for(3)
        return result, telemetry.seen()


def through_aio(kind, request):
    """The same, of asyncio."""

    async def run():
        telemetry = Telemetry()
        async with (
            aio_serving(telemetry.aio_server()) as address,
            grpc.aio.insecure_channel(address, interceptors=telemetry.aio_client()) as channel,
        ):
            with telemetry.tracers.get_tracer("shop").start_as_current_span("order"):
                result = await aio_call(channel, kind, request, metadata=(("x-tenant", "shop"),), timeout=10)
            await asyncio.to_thread(telemetry.wait_for, 3)
        return result, telemetry.seen()

    return asyncio.run(run())


@pytest.mark.proves("grpc.*")
@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("through", [through_sync, through_aio])
def test_the_telemetry_is_equal(ours, through, kind, request_):
    """One trace, from the client through the server, of each kind of call and outcome."""
    _, spans = both(lambda: through(kind, request_))
    assert [span[0] for span in spans] == ["order", called.METHODS[kind], called.METHODS[kind]]
    assert spans[0][6] is None
    assert spans[2][6] == (1, True)


@pytest.mark.parametrize("how", ["call", "with_call", "future"])
def test_ways_to_call(ours, how):
    """The function itself, with its call, and as a future."""

    def run():
        telemetry = Telemetry()
        with serving(telemetry.server()) as address, grpc.insecure_channel(address) as plain:
            channel = intercept_channel(plain, telemetry.client())
            results = [call(channel, kind, b"ok", how) for kind in ("unary_unary", "stream_unary")]
            results.append(call(channel, "unary_unary", b"abort:INTERNAL", how))
            telemetry.wait_for(6)
            return results, sorted(telemetry.seen(), key=str)

    assert len(both(run)[1]) == 6


def test_what_is_left_to_stock(ours):
    """Stock's code runs around a call, and none of what is replaced."""
    telemetry = Telemetry()
    with serving() as address, grpc.insecure_channel(address) as plain:
        channel = intercept_channel(plain, telemetry.client())
        call(channel, "unary_unary", b"ok")
        found = executed(lambda: call(channel, "unary_unary", b"ok"), NAMES)
    assert found == ["intercept_unary", "_trace_result"]


def test_deadlines(ours):
    """A call whose time is over."""

    def run():
        telemetry = Telemetry()
        with serving(telemetry.server()) as address, grpc.insecure_channel(address) as plain:
            channel = intercept_channel(plain, telemetry.client())
            results = [call(channel, kind, b"sleep:0.2", timeout=0.05)[0] for kind in KINDS]
            telemetry.wait_for(8)
            return results, sorted(telemetry.seen(), key=str)

    results, spans = both(run)
    assert set(results) == {"DEADLINE_EXCEEDED"}
    assert len(spans) == 8


def test_streams_that_are_abandoned(ours):
    """Not read, read in part, cancelled, and thrown away."""

    def run():
        telemetry = Telemetry()
        with serving(telemetry.server()) as address, grpc.insecure_channel(address) as plain:
            channel = intercept_channel(plain, telemetry.client())
            for kind in ("unary_stream", "stream_stream"):
                function = getattr(channel, kind)(called.METHODS[kind])
                function(called.sent(kind, b"ok"))
                stream = function(called.sent(kind, b"ok"))
                next(iter(stream))
                if kind == "stream_stream":
                    stream.cancel()
                del stream
            gc.collect()
            time.sleep(0.1)
            current = trace.get_current_span().is_recording()
        return current, sorted(span[0] for span in telemetry.seen() if span[1] is trace.SpanKind.CLIENT)

    both(run)


@pytest.mark.parametrize("kind", KINDS)
def test_cancelled_at_each_await(ours, kind):
    """A task that is cancelled at each of its steps: its exception, its context and its spans are as with stock."""

    async def cancel(after):
        telemetry = Telemetry()
        async with (
            aio_serving() as address,
            grpc.aio.insecure_channel(address, interceptors=telemetry.aio_client()) as channel,
        ):
            task = asyncio.ensure_future(aio_call(channel, kind, b"sleep:0.02"))
            for _ in range(after):
                await asyncio.sleep(0)
            task.cancel()
            try:
                result = await task
            except asyncio.CancelledError:
                result = "cancelled"
        gc.collect()
        return result, context.get_current(), len(telemetry.seen())

    def run():
        return [asyncio.run(cancel(after)) for after in range(12)]

    assert both(run)[0][0] == "cancelled"


def test_suppressed_and_filtered(ours):
    """No spans, and the call is made."""

    def run():
        telemetry = Telemetry()
        chosen = filters.negate(filters.method_name("unary_unary"))
        with (
            serving(telemetry.server(filter_=chosen)) as address,
            grpc.insecure_channel(address) as plain,
        ):
            channel = intercept_channel(plain, telemetry.client(filter_=chosen))
            results = [call(channel, kind, b"ok") for kind in KINDS]
            with suppress_instrumentation():
                results += [call(channel, kind, b"ok") for kind in KINDS]
            telemetry.wait_for(10)
            return results, sorted(telemetry.seen(), key=str)

    assert len(both(run)[1]) == 9


def test_hooks(ours):
    """Of requests and responses; what they raise is logged by stock."""

    def run():
        telemetry, found = Telemetry(), []

        def hook(span, message):
            span.set_attribute("hooked", "yes")
            found.append(message if isinstance(message, (bytes, str, type(None))) else type(message).__name__)
            if message == b"ok":
                raise LookupError("the application's")

        given = {"request_hook": hook, "response_hook": hook}
        with AioThread(telemetry.aio_server()) as address:
            with grpc.insecure_channel(address) as plain:
                channel = intercept_channel(plain, telemetry.client(**given))
                results = [call(channel, kind, b"ok") for kind in KINDS]

            async def calls():
                async with grpc.aio.insecure_channel(address, interceptors=telemetry.aio_client(**given)) as channel:
                    return [await aio_call(channel, kind, b"ok") for kind in KINDS]

            results += asyncio.run(calls())
            telemetry.wait_for(16)
        return results, found, sorted(telemetry.seen(), key=str)

    assert len(both(run)[2]) == 16


@pytest.mark.parametrize("address", ["unix:{}/socket", "unix-abstract:otel-fastpath-{}", "[::1]:0"])
def test_addresses(ours, tmp_path, address):
    """Of sockets of Unix, and of the sixth version of the protocol."""
    address = address.format(os.getpid() if "abstract" in address else tmp_path)

    def run():
        telemetry = Telemetry()
        with serving(telemetry.server(), address=address) as found, grpc.insecure_channel(found) as channel:
            return call(channel, "unary_unary", b"ok"), telemetry.seen()

    assert both(run)[0] == b"TrueNone"


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("ipv4:10.2.1.1:57284,127.0.0.1:57285", ("10.2.1.1", "57284")),
        ("ipv6:%5B::1%5D:57284", ("[::1]", "57284")),
        ("unix:", (None, None)),
        ("unknown", (None, None)),
    ],
)
def test_peers(ours, caplog, peer, expected):
    """What says where a client is; what is unreadable is logged each time."""

    def run():
        caplog.clear()
        for _ in range(2):
            with Telemetry().server()._start_span(DETAILS, Context(peer)) as span:
                pass
        return dict(span.attributes), [record.getMessage() for record in caplog.records]

    attributes, logged = both(run)
    assert (attributes.get("net.peer.ip"), attributes.get("net.peer.port")) == expected
    assert len(logged) == (2 if peer == "unknown" else 0)


@pytest.mark.parametrize(("method", "peer"), [("/shop.Orders/unary_unary", "vsock:3"), ("/shop", "ipv4:10.0.0.1:5")])
def test_what_stock_fails_at(ours, method, peer):
    """An address without a port, and a method without a service: the request would fail."""
    interceptor, details = Telemetry().server(), type("Details", (), {"method": method})
    with interceptor._start_span(details, Context(peer)) as span:
        assert span.attributes["rpc.system"] == "grpc"
    with stock_functions(), pytest.raises(ValueError, match="not enough values"):
        interceptor._start_span(details, Context(peer))


def test_an_error_without_a_code(ours):
    """An application's own error of gRPC's class arrives as it is; stock raises another one in its place."""
    telemetry = Telemetry()
    intercept = telemetry.client()
    error = grpc.RpcError("the application's")

    def raises(*_given):
        raise error

    information = type("Information", (), {"full_method": "/shop.Orders/unary_unary", "timeout": None})
    with pytest.raises(grpc.RpcError) as caught:
        intercept.intercept_unary(b"", None, information, raises)
    assert caught.value is error
    with stock_functions(), pytest.raises(AttributeError):
        intercept.intercept_unary(b"", None, information, raises)
    assert [span[2][0].name for span in telemetry.seen()] == ["ERROR", "UNSET"]


def test_nothing_is_kept_alive(ours):
    """Neither a request nor a span, nor a server's context."""
    telemetry = Telemetry()
    telemetry.tracers._active_span_processor._span_processors = ()
    with serving(telemetry.server()) as address, grpc.insecure_channel(address) as plain:
        channel = intercept_channel(plain, telemetry.client())
        for _ in range(3):
            call(channel, "unary_unary", b"ok")
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(300):
            call(channel, "unary_unary", b"ok")
        gc.collect()
        # Less than one for each call: threads of earlier tests may end meanwhile, or begin.
        assert len(gc.get_objects()) - before < 150


def test_each_connection_has_its_own_address(ours):
    """Nothing of one is kept for the next."""
    interceptor = Telemetry().server()
    for peer, ip, port in (
        ("ipv4:10.0.0.1:1", "10.0.0.1", "1"),
        ("ipv4:10.0.0.1:2", "10.0.0.1", "2"),
        ("ipv6:%5B::1%5D:3", "[::1]", "3"),
        ("unix:/run/shop", None, None),
    ):
        with interceptor._start_span(DETAILS, Context(peer)) as span:
            assert (span.attributes.get("net.peer.ip"), span.attributes.get("net.peer.port")) == (ip, port)
