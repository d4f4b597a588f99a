"""Reading a stream: what stands in the place of its iterator, and what hears of its end.

The client's `Stream` stays the very object that it made; only the iterator that it reads from is ours. The response
that it reads is asked to tell of its being closed, which every way of leaving a stream comes down to.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai._calls import ABANDONED
from otel_fastpath.wrap.openai._context import attach, detach

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.wrap.openai._calls import Call

# What `with` was left with, while its `__exit__` runs; nothing where none does.
STAYING: Final = object()
leaving: ContextVar[Any] = ContextVar("otel_fastpath_openai_leaving", default=STAYING)
CALL: Final = "_otel_fastpath_call"


class Pending:
    """A call whose answer the caller may yet read, or not. Held by the response alone."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call: Call | None = call

    def take(self) -> Call | None:
        """The call, for whoever goes on with it; None where somebody did."""
        call, self._call = self._call, None
        return call

    def __del__(self) -> None:
        abandon(getattr(self, "_call", None))


def abandon(call: Call | None) -> None:
    """End a call that nobody can go on with any more."""
    if call is not None and not call.is_over:
        call.end(names.OTHER_ERROR, ABANDONED)


class _Reads:
    """The iterator of a stream, with the call that it belongs to."""

    __slots__ = ("_inner", "call", "is_reading")

    def __init__(self, inner: Any, call: Call) -> None:
        self._inner = inner
        self.call = call
        self.is_reading = False

    def __getattr__(self, name: str) -> Any:
        # Whoever reaches for the generator itself finds what it has.
        return getattr(self._inner, name)

    def __del__(self) -> None:
        # Never read, or left in the middle, and nobody closed it.
        abandon(getattr(self, "call", None))


class SyncReads(_Reads):
    """That of a `Stream`."""

    __slots__ = ()

    def __iter__(self) -> SyncReads:
        return self

    def __next__(self) -> Any:
        call = self.call
        if call.is_over:
            return next(self._inner)
        token = attach(call.context)
        self.is_reading = True
        try:
            chunk = next(self._inner)
        except StopIteration:
            call.end()
            raise
        except BaseException as error:
            call.fail(error)
            raise
        finally:
            self.is_reading = False
            detach(token)
        call.chunk(chunk)
        return chunk


class AsyncReads(_Reads):
    """That of an `AsyncStream`."""

    __slots__ = ()

    def __aiter__(self) -> AsyncReads:
        return self

    async def __anext__(self) -> Any:
        call = self.call
        if call.is_over:
            return await self._inner.__anext__()
        token = attach(call.context)
        self.is_reading = True
        try:
            chunk = await self._inner.__anext__()
        except StopAsyncIteration:
            call.end()
            raise
        except BaseException as error:
            call.fail(error)
            raise
        finally:
            self.is_reading = False
            detach(token)
        call.chunk(chunk)
        return chunk


def follow(stream: Any, call: Call) -> bool:
    """Follow the reading of a client's stream; gives whether it can be."""
    inner = getattr(stream, "_iterator", None)
    is_async = hasattr(inner, "__anext__")
    if not is_async and not hasattr(inner, "__next__"):
        return False
    reads = AsyncReads(inner, call) if is_async else SyncReads(inner, call)
    call.stream()
    response = stream.response
    call.headers(response.headers)
    stream._iterator = reads
    hear(response, lambda: _closed(reads))
    return True


def _closed(reads: _Reads) -> bool:
    """Told that the response was closed; gives whether there is nothing more to hear."""
    if reads.is_reading:
        # It came to its end, or it failed: who reads it says so.
        return False
    end(reads.call)
    return True


def end(call: Call) -> None:
    """End a call that the caller has left."""
    error = leaving.get()
    if isinstance(error, BaseException):
        call.fail(error)
    else:
        call.end()


def hear(response: Any, told: Callable[[], bool]) -> None:
    """Have this told of each closing of an HTTP response, until it says that it has heard enough."""

    @functools.wraps(response.close)
    def close() -> None:
        try:
            type(response).close(response)
        finally:
            deafen()

    @functools.wraps(response.aclose)
    async def aclose() -> None:
        try:
            await type(response).aclose(response)
        finally:
            deafen()

    def deafen() -> None:
        if told():
            own = vars(response)
            for name, mine in (("close", close), ("aclose", aclose)):
                if own.get(name) is mine:
                    del own[name]

    response.close, response.aclose = close, aclose
