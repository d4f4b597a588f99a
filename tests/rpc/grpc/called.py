"""Services on loopback, sync and of asyncio, which do what a request says: `Servers` and `AioServers`."""

# ruff: noqa: D102, D103, D105

from __future__ import annotations

import asyncio
import threading
import time
from concurrent import futures
from contextlib import asynccontextmanager, contextmanager

import grpc
from opentelemetry import baggage, trace

KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
METHODS = {kind: f"/shop.Orders/{kind}" for kind in KINDS}
CODES = {code.name: code for code in grpc.StatusCode}


class ShopError(Exception):
    """A handler's own."""


def prepare(request, context):
    """Do what is not awaited; return what is left."""
    what, _, rest = request.decode().partition(":")
    if what == "raise":
        raise ShopError(rest)
    if what == "plain":
        raise Exception(rest)  # noqa: TRY002  # as `abort` does
    if what == "code":
        context.set_code(CODES[rest])
    if what == "details":
        context.set_details("first")
        context.set_code(CODES[rest])
        context.set_details("second")
    if what == "attribute":
        trace.get_current_span().set_attribute("own", rest)
    return what, rest


def answer():
    """What is current in a handler."""
    span = trace.get_current_span().get_span_context()
    return f"{span.is_valid}{baggage.get_baggage('user')}".encode()


def unary(request, context):
    what, rest = prepare(request, context)
    if what == "abort":
        context.abort(CODES[rest], "aborted")
    if what == "sleep":
        time.sleep(float(rest))
    return answer()


def stream(request, context):
    what, rest = prepare(request, context)
    yield answer()
    if what == "abort":
        context.abort(CODES[rest], "aborted")
    if what == "sleep":
        time.sleep(float(rest))
    if what == "late":
        raise ShopError(rest)
    yield b"second"


async def aio_unary(request, context):
    what, rest = prepare(request, context)
    if what == "abort":
        await context.abort(CODES[rest], "aborted")
    if what == "sleep":
        await asyncio.sleep(float(rest))
    return answer()


async def aio_stream(request, context):
    what, rest = prepare(request, context)
    yield answer()
    if what == "abort":
        await context.abort(CODES[rest], "aborted")
    if what == "sleep":
        await asyncio.sleep(float(rest))
    if what == "late":
        raise ShopError(rest)
    yield b"second"


# Each request is read: a call that is answered while it still sends may fail in gRPC itself.


def _first(behavior):
    def take(requests, context):
        first, *_ = list(requests)
        return behavior(first, context)

    return take


async def _aio_unary_first(requests, context):
    first, *_ = [each async for each in requests]
    return await aio_unary(first, context)


async def _aio_stream_first(requests, context):
    first, *_ = [each async for each in requests]
    async for each in aio_stream(first, context):
        yield each


class Handlers(grpc.GenericRpcHandler):
    """The handlers of a service."""

    def __init__(self, behaviors):
        self._handlers = {
            METHODS[kind]: getattr(grpc, f"{kind}_rpc_method_handler")(each)
            for kind, each in zip(KINDS, behaviors, strict=True)
        }

    def service(self, handler_call_details):
        return self._handlers.get(handler_call_details.method)


SYNC = (unary, stream, _first(unary), _first(stream))
ASYNC = (aio_unary, aio_stream, _aio_unary_first, _aio_stream_first)


@contextmanager
def serving(*interceptors, address="127.0.0.1:0", behaviors=SYNC):
    """The address of a server with these interceptors."""
    server = grpc.server(futures.ThreadPoolExecutor(4), interceptors=interceptors)
    server.add_generic_rpc_handlers((Handlers(behaviors),))
    port = server.add_insecure_port(address)
    server.start()
    try:
        yield address.replace(":0", f":{port}")
    finally:
        server.stop(None).wait()


@asynccontextmanager
async def aio_serving(*interceptors, address="127.0.0.1:0", behaviors=ASYNC):
    """The same, of asyncio."""
    server = grpc.aio.server(interceptors=interceptors)
    server.add_generic_rpc_handlers((Handlers(behaviors),))
    port = server.add_insecure_port(address)
    await server.start()
    try:
        yield address.replace(":0", f":{port}")
    finally:
        await server.stop(None)


class AioThread:
    """A loop in a thread of its own, with a server."""

    def __init__(self, *interceptors, behaviors=ASYNC):
        self._interceptors, self._behaviors = interceptors, behaviors
        self._is_up, self._stop = threading.Event(), None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self):
        async with aio_serving(*self._interceptors, behaviors=self._behaviors) as self.address:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            self._is_up.set()
            await self._stop.wait()

    def __enter__(self):
        self._thread.start()
        self._is_up.wait(10)
        return self.address

    def __exit__(self, *_error):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


def sent(kind, request):
    """What a function of this kind is called with."""
    return iter((request, b"more")) if kind.startswith("stream") else request


def call(channel, kind, request, how="call", **given):
    """Call a method as an application does; what came of it."""
    function = getattr(channel, kind)(METHODS[kind])
    try:
        if kind.endswith("stream"):
            return list(function(sent(kind, request), **given))
        if how == "with_call":
            return function.with_call(sent(kind, request), **given)[0]
        if how == "future":
            return function.future(sent(kind, request), **given).result()
        return function(sent(kind, request), **given)
    except grpc.RpcError as error:
        return error.code().name, error.details()
    except Exception as error:
        return type(error).__name__, str(error)


async def aio_call(channel, kind, request, **given):
    """The same, of asyncio."""
    function = getattr(channel, kind)(METHODS[kind])
    try:
        made = function(sent(kind, request), **given)
        return [each async for each in made] if kind.endswith("stream") else await made
    except grpc.aio.AioRpcError as error:
        return error.code().name, error.details()
    except Exception as error:
        return type(error).__name__, str(error)


DETAILS = type("Details", (), {"method": "/shop.Orders/unary_unary"})


class Context:
    """As much of a server's as is read when a span starts."""

    def __init__(self, peer):
        self.peer = lambda: peer

    def invocation_metadata(self):
        """None."""
        return ()
