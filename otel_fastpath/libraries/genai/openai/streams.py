"""Reading a stream: replacing its iterator, and detecting its end.

The client's `Stream` object stays the same; only the iterator that it reads from is ours. Every way of leaving a stream
closes the response, whose closing methods are wrapped.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.patching.outcome import never_raises

if TYPE_CHECKING:
    from collections.abc import Callable

# The exception or None that ended a `with`, while its `__exit__` runs; `STAYING` otherwise.
STAYING: Final = object()
leaving: ContextVar[Any] = ContextVar("otel_fastpath_openai_leaving", default=STAYING)
_PLACE: Final = "the end of an OpenAI response"
_SERVED_MODEL: Final = "x-ms-served-model"
CALL: Final = "_otel_fastpath_call"


class Pending:
    """A call whose answer the caller may or may not read. Referenced only by the objects that can read it."""

    __slots__ = ("_call",)

    def __init__(self, call: Any) -> None:
        self._call = call

    def take(self) -> Any:
        """Take the call, to continue it; None if it was taken before."""
        call, self._call = self._call, None
        return call

    def __del__(self) -> None:
        if self._call is not None and not self._call.is_over:
            self._call.abandon()


def headers(call: Any, found: Any) -> None:
    """Read the headers of a response: the model that answered."""
    served = found.get(_SERVED_MODEL)
    if served and served.strip():
        call.served(served)


def follow(stream: Any, call: Any) -> bool:
    """Follow the reading of a client's stream; return whether that is possible."""
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
            # It ended or failed, which its reader records. Nothing more is needed from the response.
            return True
        if getattr(inner, "gi_running", False) or getattr(inner, "ag_running", False):
            # Closed by the garbage collector, which may finalize the client's generator before our iterator.
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
    """The two methods that close an HTTP response, stored on it. Not closures, which would form a reference cycle."""

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
    """Call `told` each time an HTTP response is closed, until it returns true."""
    heard = _Heard(response, told)
    response.close, response.aclose = heard.close, heard.aclose
