"""Reading a stream: what stands in the place of its iterator, and what hears of its end.

The client's `Stream` stays the very object that it made; only the iterator that it reads from is ours. The response
that it reads is asked to tell of its being closed, which every way of leaving a stream comes down to.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.patching.outcome import never_raises

if TYPE_CHECKING:
    from collections.abc import Callable

# What `with` was left with, while its `__exit__` runs; nothing where none does.
STAYING: Final = object()
leaving: ContextVar[Any] = ContextVar("otel_fastpath_openai_leaving", default=STAYING)
_PLACE: Final = "the end of an OpenAI response"
_SERVED_MODEL: Final = "x-ms-served-model"
CALL: Final = "_otel_fastpath_call"


class Pending:
    """A call whose answer the caller may yet read, or not. Held only by what it would be read with."""

    __slots__ = ("_call",)

    def __init__(self, call: Any) -> None:
        self._call = call

    def take(self) -> Any:
        """The call, for whoever goes on with it; None where somebody did."""
        call, self._call = self._call, None
        return call

    def __del__(self) -> None:
        if self._call is not None and not self._call.is_over:
            self._call.abandon()


def headers(call: Any, found: Any) -> None:
    """Read what the headers of a response tell: the model that did answer."""
    served = found.get(_SERVED_MODEL)
    if served and served.strip():
        call.served(served)


def follow(stream: Any, call: Any) -> bool:
    """Follow the reading of a client's stream; gives whether it can be."""
    inner = getattr(stream, "_iterator", None)
    is_async = hasattr(inner, "__anext__")
    if not is_async and not hasattr(inner, "__next__"):
        return False
    response = stream.response
    headers(call, response.headers)
    hot = compiled.hot("libraries.genai.openai.reading_streams")
    reads = (hot.AsyncReads if is_async else hot.Reads)(inner, call, call.stream())
    stream._iterator = reads

    def told() -> bool:
        if reads.is_reading:
            # It came to its end, or it failed: who reads it says so. There is nothing more to hear of the response.
            return True
        if getattr(inner, "gi_running", False) or getattr(inner, "ag_running", False):
            # Not we and not the caller: the collector, which may come to the client's generator before ours.
            call.abandon()
        else:
            end(call)
        return True

    hear(response, told)
    return True


def end(call: Any) -> None:
    """End a call that the caller has left. Never raises."""
    error = _left_with()
    if error is None:
        call.end()
    else:
        call.fail(error)


@never_raises(_PLACE)
def _left_with() -> BaseException | None:
    error = leaving.get()
    return error if isinstance(error, BaseException) else None


class _Heard:
    """The two ways of closing an HTTP response, which it goes with. No closure: those would keep it in a cycle."""

    __slots__ = ("_response", "_told")

    def __init__(self, response: Any, told: Callable[[], bool]) -> None:
        self._response = response
        self._told = told

    def close(self) -> None:
        """Close the response, as its own method does."""
        original = type(self._response).close
        try:
            original(self._response)
        finally:
            self._tell()

    async def aclose(self) -> None:
        """Likewise, asynchronously."""
        original = type(self._response).aclose
        try:
            await original(self._response)
        finally:
            self._tell()

    @never_raises(_PLACE)
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
