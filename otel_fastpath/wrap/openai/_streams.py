"""Reading a stream: what stands in the place of its iterator, and what hears of its end.

The client's `Stream` stays the very object that it made; only the iterator that it reads from is ours. The response
that it reads is asked to tell of its being closed, which every way of leaving a stream comes down to.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.core import faults
from otel_fastpath.wrap.openai import _names as names
from otel_fastpath.wrap.openai._calls import ABANDONED
from otel_fastpath.wrap.openai._context import attach, detach, switches

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.wrap.openai._calls import Call

# What `with` was left with, while its `__exit__` runs; nothing where none does.
STAYING: Final = object()
leaving: ContextVar[Any] = ContextVar("otel_fastpath_openai_leaving", default=STAYING)
_PLACE: Final = "a chunk of an OpenAI stream"
CALL: Final = "_otel_fastpath_call"


class Pending:
    """A call whose answer the caller may yet read, or not. Held only by what it would be read with."""

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


def read(inner: Any, call: Call, add: Callable[[Any], Any], pending: Pending) -> Any:  # noqa: ARG001  # it is kept
    """The chunks of a `Stream`, whose own generator this stands before. Flat: this is what a chunk costs."""
    attach, detach = switches()
    context = call.context
    last = call.started
    # What records the time of a chunk, once everything is known that the metric names.
    record: Any = None
    follow_up = inner.__next__
    while not call.is_over:
        token = attach(context)
        try:
            chunk = follow_up()
        except StopIteration:
            call.end()
            return
        except BaseException as error:
            call.fail(error)
            raise
        finally:
            detach(token)
        now = perf_counter()
        try:
            outcome = add(chunk)
            if record is None:
                record = call.early_chunk(now - last)
            else:
                record(now - last, context)
            last = now
            if outcome is not None:
                call.end(*outcome)
        except Exception as fault:
            faults.report(_PLACE, fault)
        yield chunk
    yield from inner


class AsyncReads:
    """The iterator of an `AsyncStream`: no generator, whose end asyncio would put off when nobody reads it any more."""

    __slots__ = ("_add", "_call", "_inner", "_last", "_record", "ag_running")

    def __init__(self, inner: Any, call: Call, add: Callable[[Any], Any]) -> None:
        self._inner = inner
        self._call = call
        self._add = add
        self._last = call.started
        self._record: Any = None
        self.ag_running = False

    def __getattr__(self, name: str) -> Any:
        # Whoever reaches for the generator itself finds what it has.
        return getattr(self._inner, name)

    def __del__(self) -> None:
        abandon(getattr(self, "_call", None))

    def __aiter__(self) -> AsyncReads:
        return self

    async def __anext__(self) -> Any:
        call = self._call
        if call.is_over:
            return await self._inner.__anext__()
        token = attach(call.context)
        self.ag_running = True
        try:
            chunk = await self._inner.__anext__()
        except StopAsyncIteration:
            call.end()
            raise
        except BaseException as error:
            call.fail(error)
            raise
        finally:
            self.ag_running = False
            detach(token)
        now = perf_counter()
        try:
            outcome = self._add(chunk)
            if self._record is None:
                self._record = call.early_chunk(now - self._last)
            else:
                self._record(now - self._last, call.context)
            self._last = now
            if outcome is not None:
                call.end(*outcome)
        except Exception as fault:
            faults.report(_PLACE, fault)
        return chunk


def follow(stream: Any, call: Call) -> bool:
    """Follow the reading of a client's stream; gives whether it can be."""
    inner = getattr(stream, "_iterator", None)
    is_async = hasattr(inner, "__anext__")
    if not is_async and not hasattr(inner, "__next__"):
        return False
    response = stream.response
    call.headers(response.headers)
    add = call.stream()
    reads = AsyncReads(inner, call, add) if is_async else read(inner, call, add, Pending(call))
    stream._iterator = reads

    def told() -> bool:
        if getattr(reads, "gi_running", False) or getattr(reads, "ag_running", False):
            # It came to its end, or it failed: who reads it says so. There is nothing more to hear of the response.
            return True
        if getattr(inner, "gi_running", False) or getattr(inner, "ag_running", False):
            # Not we and not the caller: the collector, which may come to the client's generator before ours.
            abandon(call)
        else:
            end(call)
        return True

    hear(response, told)
    return True


def end(call: Call) -> None:
    """End a call that the caller has left."""
    error = leaving.get()
    if isinstance(error, BaseException):
        call.fail(error)
    else:
        call.end()


class _Heard:
    """The two ways of closing an HTTP response, which it goes with. No closure: those would keep it in a cycle."""

    __slots__ = ("_response", "_told")

    def __init__(self, response: Any, told: Callable[[], bool]) -> None:
        self._response = response
        self._told = told

    def close(self) -> None:
        """Close the response, as its own method does."""
        try:
            type(self._response).close(self._response)
        finally:
            self._tell()

    async def aclose(self) -> None:
        """Likewise, asynchronously."""
        try:
            await type(self._response).aclose(self._response)
        finally:
            self._tell()

    def _tell(self) -> None:
        if self._told():
            own = vars(self._response)
            for name in ("close", "aclose"):
                if getattr(own.get(name), "__self__", None) is self:
                    del own[name]


def hear(response: Any, told: Callable[[], bool]) -> None:
    """Have this told of each closing of an HTTP response, until it says that it has heard enough."""
    heard = _Heard(response, told)
    response.close, response.aclose = heard.close, heard.aclose
