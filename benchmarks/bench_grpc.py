"""Calls of gRPC's clients and servers, sync and asyncio: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_grpc.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'grpc*'

The set-ups are `stock`, `pure` and `compiled`. In the place of the channel and of the server's context stand objects
that answer at once, and coroutines run without a loop: gRPC's own threads would be counted otherwise. Streams have
three messages. The `bare` calls have no interceptor.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import grpc
from bench_span import batching
from grpc._cython.cygrpc import _Metadatum
from opentelemetry.instrumentation import grpc as instrumentation
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from setups import ways

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

_METHOD = "/shop.Orders/Charge"
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_SENT = (("x-tenant", "shop"),)
_RECEIVED = tuple(
    _Metadatum(*each)
    for each in (
        ("x-tenant", "shop"),
        ("traceparent", _PARENT),
        ("user-agent", "grpc-python/1.85.1 grpc-c/55.0.0 (linux; chttp2)"),
    )
)
_DETAILS = grpc.aio.ClientCallDetails(_METHOD.encode(), None, grpc.aio.Metadata(*_SENT), None, None)
_KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
_MESSAGES = (b"1", b"2", b"3")


class Stream(grpc.Future):
    """In the place of a call whose response is a stream."""

    def __init__(self) -> None:
        self._messages = iter(_MESSAGES)

    def __iter__(self) -> Iterator[bytes]:  # noqa: D105
        return self._messages

    def code(self) -> Any:
        """Succeed."""
        return grpc.StatusCode.OK

    def result(self, timeout: Any = None) -> Any:
        """Return nothing."""

    def add_done_callback(self, fn: Any) -> Any:
        """It is done."""
        fn(self)


Stream.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]


class Answer:
    """In the place of a call of asyncio that is done."""

    async def code(self) -> Any:
        """Succeed."""
        return grpc.StatusCode.OK

    async def details(self) -> str:
        """Say nothing."""
        return ""

    def add_done_callback(self, callback: Any) -> None:
        """It is done."""
        callback(self)

    async def __aiter__(self) -> AsyncIterator[bytes]:  # noqa: D105
        for message in _MESSAGES:
            yield message


class Channel:
    """In the place of a channel."""

    def unary_unary(self, *_more: Any) -> Callable[..., Any]:
        """Make a function that answers."""
        return lambda *_more: b"answer"

    stream_unary = unary_unary

    def unary_stream(self, *_more: Any) -> Callable[..., Any]:
        """Make a function that answers with a stream."""
        return lambda *_more: Stream()

    stream_stream = unary_stream


class Context(grpc.ServicerContext):
    """In the place of a server's context."""

    def invocation_metadata(self) -> Any:
        """Return what the client has sent."""
        return _RECEIVED

    def peer(self) -> str:
        """Return the client's address."""
        return "ipv4:127.0.0.1:57284"


Context.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]


class Details(grpc.HandlerCallDetails):
    """Of a request that a server gets."""

    method = _METHOD
    invocation_metadata = _RECEIVED


async def _continue(_details: Any, _request: Any) -> Answer:
    return Answer()


def _handlers(behaviors: dict[str, Any]) -> dict[str, Any]:
    return {kind: getattr(grpc, f"{kind}_rpc_method_handler")(each) for kind, each in behaviors.items()}


def _answer(_request: Any, _context: Any) -> bytes:
    return b"answer"


def _answer_stream(_request: Any, _context: Any) -> Iterator[bytes]:
    yield from _MESSAGES


async def _answer_later(_request: Any, _context: Any) -> bytes:
    return b"answer"


async def _answer_stream_later(_request: Any, _context: Any) -> AsyncIterator[bytes]:
    for message in _MESSAGES:
        yield message


_SYNC = _handlers(dict(zip(_KINDS, (_answer, _answer_stream) * 2, strict=True)))
_ASYNC = _handlers(dict(zip(_KINDS, (_answer_later, _answer_stream_later) * 2, strict=True)))


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that does not wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("it waits")


async def _read(stream: Any) -> None:
    async for _ in stream:
        pass


class Given:
    """The objects that the callables of this file use.

    Attributes:
        plain: The functions that call a method of each kind, without interceptors.
        calls: The same with the instrumentation's.
        waiting: The instrumentation's interceptors of asyncio, by kind.
        server: The interceptor of a server.
        waiting_server: That of one of asyncio.
        context: What a server gives to a handler.
    """

    def __init__(self) -> None:
        self.spans = batching()
        channel = intercept_channel(Channel(), instrumentation.client_interceptor(self.spans))
        self.plain = {kind: getattr(Channel(), kind)(_METHOD) for kind in _KINDS}
        self.calls = {kind: getattr(channel, kind)(_METHOD) for kind in _KINDS}
        made = instrumentation.aio_client_interceptors(self.spans)
        self.waiting = {kind: getattr(each, f"intercept_{kind}") for kind, each in zip(_KINDS, made, strict=True)}
        self.server = instrumentation.server_interceptor(self.spans)
        self.waiting_server = instrumentation.aio_server_interceptor(self.spans)
        self.context = Context()


stock, pure, compiled = ways(Given)


def _call(kind: str) -> tuple[Any, Any]:
    is_stream = kind.endswith("stream")

    def bare(given: Given) -> None:
        result = given.plain[kind](b"", None, _SENT)
        if is_stream:
            list(result)

    def instrumented(given: Given) -> None:
        result = given.calls[kind](b"", None, _SENT)
        if is_stream:
            list(result)

    return bare, instrumented


def _await_call(kind: str) -> tuple[Any, Any]:
    is_stream = kind.endswith("stream")

    async def call(continuation: Any) -> None:
        answer = await continuation(_DETAILS, b"")
        if is_stream:
            await _read(answer)

    async def intercepted(interceptor: Any) -> None:
        answer = await interceptor(_continue, _DETAILS, b"")
        if is_stream:
            await _read(answer)

    return lambda _given: _run(call(_continue)), lambda given: _run(intercepted(given.waiting[kind]))


def _serve(kind: str) -> tuple[Any, Any]:
    is_stream, handler = kind.endswith("stream"), _SYNC[kind]

    def use(found: Any, given: Given) -> None:
        result = getattr(found, kind)(b"", given.context)
        if is_stream:
            list(result)

    def find(_details: Any) -> Any:
        return handler

    return (
        lambda given: use(find(Details), given),
        lambda given: use(given.server.intercept_service(find, Details), given),
    )


def _await_serving(kind: str) -> tuple[Any, Any]:
    is_stream, handler = kind.endswith("stream"), _ASYNC[kind]

    async def find(_details: Any) -> Any:
        return handler

    async def serve(found: Any, given: Given) -> None:
        result = getattr(await found, kind)(b"", given.context)
        await (_read(result) if is_stream else result)

    return (
        lambda given: _run(serve(find(Details), given)),
        lambda given: _run(serve(given.waiting_server.intercept_service(find, Details), given)),
    )


# Row of the table -> bare and instrumented. A request that is a stream costs no more than one that is none.
ROWS = {}
for _what, _pair, _shown in (
    ("client", _call, ("unary_unary", "unary_stream", "stream_stream")),
    ("client, asyncio", _await_call, ("unary_unary", "unary_stream")),
    ("server", _serve, ("unary_unary", "unary_stream")),
    ("server, asyncio", _await_serving, ("unary_unary", "unary_stream")),
):
    for _kind in _shown:
        _name = f"{_what}_{_kind}".replace(", ", "_")
        _bare, _instrumented = _pair(_kind)
        _bare.__name__, _instrumented.__name__ = f"{_name}_bare", _name
        globals()[f"{_name}_bare"], globals()[_name] = _bare, _instrumented
        ROWS[f"grpc {_what}, {_kind.replace('_', ' to ')}"] = (_bare, _instrumented)

if __name__ == "__main__":
    from table import main

    sys.exit(main("Calls of gRPC", "bench_grpc", ROWS, ("stock", "pure", "compiled")))
