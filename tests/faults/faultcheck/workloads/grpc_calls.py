"""Calls of gRPC that clients make and servers get, sync and of asyncio; in the place of gRPC's own stand stubs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from grpc._cython.cygrpc import _Metadatum
from opentelemetry import trace
from opentelemetry.instrumentation import grpc as instrumentation
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from faultcheck.host import Host

_METHOD = "/shop.Orders/Charge"
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class _ShopError(grpc.RpcError):
    """As those of calls."""

    def code(self) -> Any:
        return grpc.StatusCode.NOT_FOUND


class _Channel:
    """In the place of a channel: it keeps the metadata."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def unary_unary(self, *_more: Any) -> Callable[..., Any]:
        return self._answer

    def unary_stream(self, *_more: Any) -> Callable[..., Any]:
        return lambda *given: iter((self._answer(*given), b"more"))

    def _answer(self, request: Any, _timeout: Any, metadata: Any, *_more: Any) -> Any:
        self.sent.append(metadata)
        if request == b"fails":
            raise _ShopError("no such order")
        return request


class _Answer:
    """In the place of a call of asyncio that is done."""

    async def code(self) -> Any:
        return grpc.StatusCode.OK

    async def details(self) -> str:
        return ""

    def add_done_callback(self, callback: Any) -> None:
        callback(self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"one"


class _Context(grpc.ServicerContext):
    """In the place of a server's context."""

    def __init__(self, *metadata: tuple[str, str]) -> None:
        self._metadata = tuple(_Metadatum(*each) for each in metadata)

    def invocation_metadata(self) -> Any:
        return self._metadata

    def peer(self) -> str:
        return "ipv4:127.0.0.1:57284"


_Context.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
_CONTEXTS = (
    _Context(("traceparent", _PARENT), ("user-agent", "grpc")),
    _Context(("traceparent", _PARENT), ("baggage", "user=ann")),
    _Context(),
)


def _charge(request: Any, _context: Any) -> Any:
    if request == b"fails":
        raise LookupError("the host's")
    return trace.get_current_span().is_recording()


def _list(request: Any, context: Any) -> Iterator[Any]:
    yield _charge(request, context)


async def _charge_later(request: Any, context: Any) -> Any:
    return _charge(request, context)


async def _run_to_end(awaited: Any) -> Any:
    return await awaited


def _run(awaited: Any) -> Any:
    """Run what does not wait."""
    try:
        _run_to_end(awaited).send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits")


class GrpcCalls(Workload):
    """Calls that succeed and calls that fail, of each kind."""

    about = ("otel_fastpath/rpc/",)

    def prepare(self) -> None:
        """Where the spans go."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))

    def begin(self) -> None:
        """The interceptors."""
        tracers = self.telemetry.tracer_provider
        self.channel = _Channel()
        intercepted = intercept_channel(self.channel, instrumentation.client_interceptor(tracers))
        self.unary, self.stream = intercepted.unary_unary(_METHOD), intercepted.unary_stream(_METHOD)
        self.waiting, *_ = instrumentation.aio_client_interceptors(tracers)
        self.server = instrumentation.server_interceptor(tracers)
        self.waiting_server = instrumentation.aio_server_interceptor(tracers)

    def run(self, host: Host) -> None:
        """Call and serve, twice."""
        for turn in ("first", "again"):
            for request in (b"succeeds", b"fails"):
                host.step(f"{turn}: call, {request!r}", self._call, request)
                host.step(f"{turn}: stream, {request!r}", self._stream, request)
                for number, context in enumerate(_CONTEXTS):
                    host.step(f"{turn}: serve {number}, {request!r}", self._serve, request, context)
                    host.step(f"{turn}: serve later {number}, {request!r}", self._serve_later, request, context)
                host.step(f"{turn}: serve a stream, {request!r}", self._serve_stream, request)
            host.step(f"{turn}: call later", self._call_later)

    def _call(self, request: bytes) -> Any:
        answer = self.unary(request, None, (("x-tenant", "shop"),))
        return answer, self.channel.sent[-1][0], trace.get_current_span().is_recording()

    def _stream(self, request: bytes) -> Any:
        return list(self.stream(request)), trace.get_current_span().is_recording()

    def _call_later(self) -> Any:
        sent: list[Any] = []

        async def continuation(details: Any, request: Any) -> Any:
            sent.append((details.method, details.metadata["x-tenant"], request))
            return _Answer()

        details = grpc.aio.ClientCallDetails(
            _METHOD.encode(), None, grpc.aio.Metadata(("x-tenant", "shop")), None, None
        )
        _run(self.waiting.intercept_unary_unary(continuation, details, b"one"))
        return sent, trace.get_current_span().is_recording()

    def _serve(self, request: bytes, context: Any) -> Any:
        handler = grpc.unary_unary_rpc_method_handler(_charge)
        found = self.server.intercept_service(lambda _details: handler, _Details)
        return found.unary_unary(request, context), trace.get_current_span().is_recording()

    def _serve_stream(self, request: bytes) -> Any:
        handler = grpc.unary_stream_rpc_method_handler(_list)
        found = self.server.intercept_service(lambda _details: handler, _Details)
        return list(found.unary_stream(request, _CONTEXTS[0])), trace.get_current_span().is_recording()

    def _serve_later(self, request: bytes, context: Any) -> Any:
        async def find(_details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(_charge_later)

        found = _run(self.waiting_server.intercept_service(find, _Details))
        return _run(found.unary_unary(request, context)), trace.get_current_span().is_recording()


class _Details(grpc.HandlerCallDetails):
    method = _METHOD
    invocation_metadata = ()
