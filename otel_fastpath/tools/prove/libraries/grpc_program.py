"""Calls that gRPC's clients make and servers get, sync and of asyncio; nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from grpc._cython.cygrpc import _Metadatum
from opentelemetry import baggage, trace
from opentelemetry.instrumentation import grpc as _instrumentation
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel as _intercept_channel

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

    from otel_fastpath.tools.prove.program import ProgramRun

# Without types.
instrumentation: Any = _instrumentation
intercept_channel: Any = _intercept_channel
_METHOD: Final = "/shop.Orders/Charge"
_PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_PEERS: Final = ("ipv4:127.0.0.1:57284", "ipv6:%5B::1%5D:57284", "ipv4:10.2.1.1:5,127.0.0.1:6", "unix:", "odd")
_METADATA: Final = (
    (),
    (("x-tenant", "shop"),),
    (("traceparent", _PARENT), ("user-agent", "grpc")),
    (("traceparent", _PARENT), ("tracestate", "a=1"), ("baggage", "user=ann")),
)
_REQUESTS: Final = (b"succeeds", b"fails", b"aborts")


class _CallError(grpc.RpcError):  # type: ignore[misc]  # without types
    """As those of calls."""

    def code(self) -> Any:
        """Return it."""
        return grpc.StatusCode.NOT_FOUND


class _Answer:
    """In the place of a call that is done."""

    def __init__(self, request: bytes) -> None:
        self._code = grpc.StatusCode.OK if request == b"succeeds" else grpc.StatusCode.INTERNAL

    async def code(self) -> Any:
        """Return it."""
        return self._code

    async def details(self) -> Any:
        """Say what it is."""
        return self._code.name

    def add_done_callback(self, callback: Any) -> None:
        """It is done."""
        callback(self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """One message."""
        yield b"one"


class _Channel:
    """In the place of a channel."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def unary_unary(self, *_more: Any) -> Callable[..., Any]:
        """Make what answers."""
        return self._answer

    def unary_stream(self, *_more: Any) -> Callable[..., Any]:
        """Make what answers with a stream."""
        return lambda *given: iter([self._answer(*given)])

    def _answer(self, request: bytes, _timeout: Any, metadata: Any, *_more: Any) -> bytes:
        self.sent += [key for key, _ in metadata]
        if request != b"succeeds":
            raise _CallError("no such order")
        return request


class _Context(grpc.ServicerContext):  # type: ignore[misc]  # likewise
    """In the place of a server's context."""

    def __init__(self, draw: random.Random) -> None:
        self._metadata = tuple(_Metadatum(*each) for each in draw.choice(_METADATA))
        self._peer = draw.choice(_PEERS)

    def invocation_metadata(self) -> Any:
        """What the client has sent."""
        return self._metadata

    def peer(self) -> str:
        """The client."""
        return self._peer

    def abort(self, code: Any, details: str) -> Any:  # noqa: ARG002  # gRPC's
        """Raise what gRPC raises."""
        raise Exception  # noqa: TRY002  # likewise


_Context.__abstractmethods__ = frozenset()


class _Details(grpc.HandlerCallDetails):  # type: ignore[misc]  # without types
    method = _METHOD
    invocation_metadata = ()


def _charge(request: bytes, context: Any) -> Any:
    if request == b"fails":
        raise LookupError("the host's")
    if request == b"aborts":
        context.abort(grpc.StatusCode.INTERNAL, "no such order")
    return trace.get_current_span().is_recording(), baggage.get_baggage("user")


def _list(request: bytes, context: Any) -> Iterator[Any]:
    yield _charge(request, context)


async def _charge_later(request: bytes, context: Any) -> Any:
    return _charge(request, context)


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that does not wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits")


def run_grpc(run: ProgramRun) -> None:  # noqa: C901  # a function for each step
    """Calls of each kind."""
    tracers = run.telemetry().tracers
    channel = _Channel()
    intercepted = intercept_channel(channel, instrumentation.client_interceptor(tracers))
    unary, stream = intercepted.unary_unary(_METHOD), intercepted.unary_stream(_METHOD)
    waiting, *_ = instrumentation.aio_client_interceptors(tracers)
    server, waiting_server = (
        instrumentation.server_interceptor(tracers),
        instrumentation.aio_server_interceptor(tracers),
    )

    def call(draw: random.Random) -> Any:
        return unary(draw.choice(_REQUESTS), None, draw.choice(_METADATA)), channel.sent

    def call_stream(draw: random.Random) -> Any:
        return list(stream(draw.choice(_REQUESTS), None, draw.choice(_METADATA))), channel.sent

    def call_later(draw: random.Random) -> Any:
        async def continuation(details: Any, request: bytes) -> Any:
            channel.sent.extend(key for key, _ in details.metadata)
            return _Answer(request)

        metadata = grpc.aio.Metadata(*draw.choice(_METADATA))
        details = grpc.aio.ClientCallDetails(_METHOD.encode(), None, metadata, None, None)
        _run(waiting.intercept_unary_unary(continuation, details, draw.choice(_REQUESTS)))
        return channel.sent

    def serve(draw: random.Random) -> Any:
        handler = grpc.unary_unary_rpc_method_handler(_charge)
        found = server.intercept_service(lambda _details: handler, _Details)
        return found.unary_unary(draw.choice(_REQUESTS), _Context(draw))

    def serve_stream(draw: random.Random) -> Any:
        handler = grpc.unary_stream_rpc_method_handler(_list)
        found = server.intercept_service(lambda _details: handler, _Details)
        return list(found.unary_stream(draw.choice(_REQUESTS[:2]), _Context(draw)))

    def serve_later(draw: random.Random) -> Any:
        async def find(_details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(_charge_later)

        found = _run(waiting_server.intercept_service(find, _Details))
        return _run(found.unary_unary(draw.choice(_REQUESTS[:2]), _Context(draw)))

    for draw in run.halves():
        for step in (call, call_stream, call_later, serve, serve_stream, serve_later) * 2:
            run.attempt(step, draw)


PROGRAM: Final = run_grpc
