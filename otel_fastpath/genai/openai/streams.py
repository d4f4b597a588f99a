"""Reading a stream: replacing its iterator, and detecting its end.

The client's `Stream` object stays the same; only the iterator that it reads from is ours. Every way of leaving a stream
closes the response, whose closing methods are wrapped.
"""

from __future__ import annotations

from contextvars import ContextVar
from copy import deepcopy
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.compiled.helpers import drop_finalizer
from otel_fastpath.patching.outcome import never_raises

if TYPE_CHECKING:
    from collections.abc import Callable

# The exception or None that ended a `with`, while its `__exit__` runs; `STAYING` otherwise.
STAYING: Final = object()
leaving: ContextVar[Any] = ContextVar("otel_fastpath_openai_leaving", default=STAYING)
_PLACE: Final = "the end of an OpenAI response"
_SERVED_MODEL: Final = "x-ms-served-model"
CALL: Final = "_otel_fastpath_call"
_CLOSING: Final = frozenset({"close", "aclose"})


class Pending:
    """A call whose answer the caller may or may not read. Referenced only by the objects that can read it."""

    __slots__ = ("_call",)

    def __init__(self, call: Any) -> None:
        self._call = call

    def take(self) -> Any:
        """Take the call, to continue it; None if it was taken before."""
        call, self._call = self._call, None
        drop_finalizer(self, Pending)
        return call

    def __reduce__(self) -> Any:
        # A copy of the object that refers to this has no call.
        return type(None), ()


class OpenPending(Pending):
    """One whose call nobody has taken; as `trace.context.scope.OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        # An interrupt can come before it is set.
        call = getattr(self, "_call", None)
        if call is not None and not call.is_over:
            call.abandon()


def headers(call: Any, found: Any) -> None:
    """Read the headers of a response: the model that answered."""
    served = found.get(_SERVED_MODEL)
    if served and served.strip():
        call.set_served_model(served)


def follow(stream: Any, call: Any) -> bool:
    """Follow the reading of a client's stream; return whether that is possible."""
    inner = getattr(stream, "_iterator", None)
    is_async = hasattr(inner, "__anext__")
    if not is_async and not hasattr(inner, "__next__"):
        return False
    response = stream.response
    headers(call, response.headers)
    iterators = hot.genai_openai_reading_iterators
    reads = (iterators.OpenAsyncReads if is_async else iterators.OpenReads)(inner, call, call.stream())
    stream._iterator = reads

    def try_end() -> bool:
        if reads.is_reading:
            # It ended or failed, which its reader records. Nothing more is needed from the response.
            return True
        if getattr(inner, "gi_running", False) or getattr(inner, "ag_running", False):
            # Closed by the garbage collector, which may finalize the client's generator before our iterator.
            call.abandon()
        else:
            end(call)
        reads.close()
        return True

    hear(response, try_end)
    return True


def end(call: Any) -> None:
    """End a call that the caller has left. Never raises."""
    error = _after_exit()
    if error is None:
        call.end()
    else:
        call.fail(error)


@never_raises(_PLACE)
def _after_exit() -> BaseException | None:
    error = leaving.get()
    return error if isinstance(error, BaseException) else None


class _Heard:
    """The two methods that close an HTTP response, stored on it. Not closures, which would form a reference cycle.

    Args:
        response: The response.
        told: Called when it was closed; returns whether that was the last time.
        own: The methods that the host has stored on it, by name: they are called, and stored again in the end.
    """

    __slots__ = ("_own", "_response", "_told")

    def __init__(self, response: Any, told: Callable[[], bool], own: dict[str, Any]) -> None:
        self._response = response
        self._told = told
        self._own = own

    def close(self) -> None:
        """Close the response, as its own method does."""
        # `original` is not asked: a fault in it would reach the host, whose response would stay open.
        try:
            if "close" in self._own:
                host = self._own["close"]
                host()
            else:
                host = type(self._response).close
                host(self._response)
        finally:
            self._tell()

    async def aclose(self) -> None:
        """Likewise, asynchronously."""
        try:
            if "aclose" in self._own:
                host = self._own["aclose"]
                await host()
            else:
                host = type(self._response).aclose
                await host(self._response)
        finally:
            self._tell()

    def original(self, name: str) -> Any:
        """The method that the response would have without this."""
        if name in self._own:
            return self._own[name]
        return MethodType(getattr(type(self._response), name), self._response)

    def __reduce__(self) -> Any:
        # A pickled response has its original methods, and can be loaded without this package.
        return SimpleNamespace, (), {name: self.original(name) for name in _CLOSING}

    def __deepcopy__(self, memo: dict[int, Any]) -> _Heard:
        # Closing a copy of the response does not end the call. A method is copied with its function, so this is no
        # other class.
        return _Heard(deepcopy(self._response, memo), _is_copy, deepcopy(self._own, memo))

    @never_raises(_PLACE)
    def _tell(self) -> None:
        if self._told():
            stored = self._response.__dict__
            for name in _CLOSING:
                if getattr(stored.get(name), "__self__", None) is self:
                    if name in self._own:
                        stored[name] = self._own[name]
                    else:
                        del stored[name]


def _is_copy() -> bool:
    return True


def _heard_by(method: Any) -> _Heard | None:
    """The object whose method this is, if it is one of ours."""
    owner = method.__self__ if type(method) is MethodType else None
    return owner if type(owner) is _Heard else None


def _own_of(stored: dict[str, Any]) -> dict[str, Any]:
    """The closing methods among what is stored on a response that are the host's own."""
    own = {}
    for name in _CLOSING:
        method = stored.get(name)
        # A stream that is parsed from a raw response is heard a second time.
        before = _heard_by(method)
        if before is not None:
            method = before._own.get(name)
        if method is not None:
            own[name] = method
    return own


def hear(response: Any, told: Callable[[], bool]) -> None:
    """Call `try_end` each time an HTTP response is closed, until it returns true."""
    heard = _Heard(response, told, {} if _CLOSING.isdisjoint(response.__dict__) else _own_of(response.__dict__))
    response.close, response.aclose = heard.close, heard.aclose
