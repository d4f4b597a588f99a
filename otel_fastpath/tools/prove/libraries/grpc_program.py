"""Calls that gRPC's clients make and servers get, sync and of asyncio; nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from grpc._cython.cygrpc import _Metadatum
from opentelemetry import baggage, trace
from opentelemetry.instrumentation import grpc as _instrumentation
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel as _intercept_channel

from otel_fastpath.tools.prove.libraries.modes import hooks, run_at_once

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable, Iterator

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
        self._may_fail = request == b"aborts"

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
        if self._may_fail:
            raise LookupError("the host's")


class _Future(grpc.Future):  # type: ignore[misc]  # without types
    """In the place of a call that is waited for later, and is done."""

    def __init__(self, request: bytes) -> None:
        self._code = grpc.StatusCode.OK if request == b"succeeds" else grpc.StatusCode.INTERNAL

    def code(self) -> Any:
        """Return it."""
        return self._code

    def result(self, timeout: float | None = None) -> bytes:  # noqa: ARG002  # gRPC's
        """Return it."""
        return b"one"

    def add_done_callback(self, fn: Any) -> None:
        """It is done."""
        fn(self)


class _Channel:
    """In the place of a channel."""

    def __init__(self, sent: list[Any]) -> None:
        self.sent = sent

    def unary_unary(self, *_more: Any) -> Any:
        """Make what answers."""
        return _Calling(self._answer)

    def unary_stream(self, *_more: Any) -> Callable[..., Any]:
        """Make what answers with a stream."""
        return lambda *given: iter([self._answer(*given)])

    def stream_unary(self, *_more: Any) -> Callable[..., Any]:
        """Make what answers a stream."""
        return lambda requests, *given: self._answer(next(iter(requests)), *given)

    def stream_stream(self, *_more: Any) -> Callable[..., Any]:
        """Make what answers a stream with one."""
        return lambda requests, *given: _Future(self._answer(next(iter(requests)), *given))

    def _answer(self, request: bytes, _timeout: Any, metadata: Any, *_more: Any) -> bytes:
        self.sent += metadata or ("nothing",)
        if request == b"fails":
            raise _CallError("no such order")
        if request == b"aborts":
            raise LookupError("the host's")
        return request


class _Calling:
    """Calls in each way that a channel's callables have."""

    def __init__(self, answer: Callable[..., bytes]) -> None:
        self._answer = answer

    def __call__(self, *given: Any) -> bytes:
        """Answer."""
        return self._answer(*given)

    def with_call(self, *given: Any) -> Any:
        """Answer, and say how."""
        return self._answer(*given), "call"

    def future(self, *given: Any) -> Any:
        """Answer later."""
        return _Future(self._answer(*given))


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

    def set_code(self, code: Any) -> None:
        """Take it."""

    def set_details(self, details: str) -> None:
        """Take it."""


class _WaitingContext(_Context):
    """Of asyncio."""

    async def abort(self, code: Any, details: str, trailing_metadata: Any = ()) -> Any:  # noqa: ARG002  # gRPC's
        """Raise what gRPC raises."""
        raise Exception  # noqa: TRY002  # likewise


for _each in (_Future, _Context, _WaitingContext):
    _each.__abstractmethods__ = frozenset()


class _Details(grpc.HandlerCallDetails):  # type: ignore[misc]  # without types
    method = _METHOD
    invocation_metadata = ()


def _charge(request: bytes, context: Any) -> Any:
    if request == b"fails":
        raise LookupError("the host's")
    if request == b"aborts":
        context.set_details("sold out")
        context.set_code(grpc.StatusCode.NOT_FOUND)
        return context.abort(grpc.StatusCode.INTERNAL, "no such order")
    # Where a change of the context can be seen without one of the answer.
    trace.get_current_span().set_attribute("baggage", str(dict(baggage.get_all())))
    return request


def _list(request: bytes, context: Any) -> Iterator[Any]:
    yield _charge(request, context)


def _add(requests: Any, context: Any) -> Any:
    return _charge(next(iter(requests)), context)


def _chat(requests: Any, context: Any) -> Iterator[Any]:
    for each in requests:
        yield _charge(each, context)


async def _charge_later(request: bytes, context: Any) -> Any:
    found = _charge(request, context)
    return await found if request == b"aborts" else found


async def _list_later(request: bytes, context: Any) -> AsyncIterator[Any]:
    yield await _charge_later(request, context)


async def _add_later(requests: Any, context: Any) -> Any:
    return await _charge_later(next(iter(requests)), context)


async def _chat_later(requests: Any, context: Any) -> AsyncIterator[Any]:
    yield await _charge_later(next(iter(requests)), context)


_FUNCTIONS: Final = ((_charge, _charge_later), (_list, _list_later), (_add, _add_later), (_chat, _chat_later))
_KINDS: Final = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
# What a call is made with: one message, or several.
_GIVEN: Final = (bytes, bytes, lambda each: iter([each]), lambda each: [each])


async def _listed(messages: Any) -> list[Any]:
    return [each async for each in messages]


def _handler(number: int, *, is_waiting: bool) -> Any:
    return getattr(grpc, f"{_KINDS[number]}_rpc_method_handler")(_FUNCTIONS[number][is_waiting])


class _Host:
    """An application with a client and a server of each kind, and the steps that it takes."""

    def __init__(self, run: ProgramRun) -> None:
        tracers = run.telemetry().tracers
        # One in six has a filter that lets nothing be traced.
        filter_ = (lambda _info: False) if run.seed % 6 == 5 else None  # noqa: PLR2004  # the last of them
        given: dict[str, Any] = {"tracer_provider": tracers, "filter_": filter_}
        asked = given | hooks(run, ("request_hook", "response_hook"))
        self._sent = run.carried
        self._channel = _Channel(self._sent)
        channel = intercept_channel(self._channel, instrumentation.client_interceptor(**asked))
        self._calls = [getattr(channel, kind)(_METHOD) for kind in _KINDS]
        self._waiting = instrumentation.aio_client_interceptors(**asked)
        self._server = instrumentation.server_interceptor(**given)
        self._waiting_server = instrumentation.aio_server_interceptor(**given)

    def call(self, draw: random.Random) -> Any:
        """Call, and read the answer."""
        number = draw.randrange(len(_KINDS))
        request = _GIVEN[number](draw.choice(_REQUESTS))
        found = self._calls[number](request, None, draw.choice(_METADATA))
        return list(found) if number == 1 else type(found).__name__

    def call_otherwise(self, draw: random.Random) -> Any:
        """Call as code does that waits later, or looks at the call."""
        way = draw.choice((self._calls[0].future, self._calls[0].with_call))
        return type(way(draw.choice(_REQUESTS), None, draw.choice(_METADATA))).__name__

    def call_later(self, draw: random.Random) -> Any:
        """Call with asyncio."""
        number = draw.randrange(len(_KINDS))

        async def continuation(details: Any, request: Any) -> Any:
            self._sent += details.metadata or ("nothing",)
            return _Answer(request if type(request) is bytes else next(iter(request)))

        metadata = grpc.aio.Metadata(*draw.choice(_METADATA))
        details = grpc.aio.ClientCallDetails(_METHOD.encode(), None, metadata, None, None)
        intercept = getattr(self._waiting[number], f"intercept_{_KINDS[number]}")
        found = run_at_once(intercept(continuation, details, _GIVEN[number](draw.choice(_REQUESTS))))
        return run_at_once(_listed(found)) if number in {1, 3} else None

    def serve(self, draw: random.Random) -> Any:
        """Answer a call."""
        number = draw.randrange(len(_KINDS))
        found = self._server.intercept_service(lambda _details: _handler(number, is_waiting=False), _Details)
        answered = getattr(found, _KINDS[number])(_GIVEN[number](draw.choice(_REQUESTS)), _Context(draw))
        return list(answered) if number in {1, 3} else answered

    def serve_later(self, draw: random.Random) -> Any:
        """Answer a call with asyncio."""
        number = draw.randrange(len(_KINDS))

        async def find(_details: Any) -> Any:
            return _handler(number, is_waiting=True)

        found = run_at_once(self._waiting_server.intercept_service(find, _Details))
        answer = getattr(found, _KINDS[number])
        answered = answer(_GIVEN[number](draw.choice(_REQUESTS)), _WaitingContext(draw))
        return run_at_once(_listed(answered) if number in {1, 3} else answered)


def run_grpc(run: ProgramRun) -> None:
    """Calls of each kind."""
    host = _Host(run)
    for draw in run.halves():
        for step in (host.call, host.call_otherwise, host.call_later, host.serve, host.serve_later) * 4:
            run.attempt(step, draw)


PROGRAM: Final = run_grpc
