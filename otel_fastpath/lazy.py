"""Attribute values that are computed only when they are read or exported."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.locks import Tally
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)

FAILED: Final = "<lazy attribute value failed>"
# The result for a value that the SDK drops because it is invalid, as it does before 1.45: the attribute does not exist.
DROPPED: Final = object()
# What the function that computes a value gets if it reads that same value.
UNMADE: Final = "<lazy attribute value is being made>"

_deferring = False
_failures: Final = Tally()
_being_made: ContextVar[tuple[Lazy, ...]] = ContextVar("otel_fastpath_lazy", default=())


def lazy(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Compute an attribute value only when it is needed.

    In `span.set_attribute("k", lazy(json.dumps, message))`, the function is called once: when a processor or other code
    reads the span's attributes, or in the export thread; never for a span that is not recording. Its result is cleaned
    and limited like any other value. The arguments are kept by reference until then, so pass objects that do not
    change, or copies. If the function raises, the value is `FAILED`; the first failure of each function is logged, and
    all are counted, see `failures`.

    No lock is held during the call. Threads that need the value at the same time may each call the function; the first
    result is used. The function may read the span that the value belongs to; it then gets `UNMADE` for that value and
    for others that are being computed. Attributes that it sets on this span may be lost.

    Without the fast path the function is called immediately, and its result is returned or its exception raised.
    """
    if _deferring:
        try:
            return Lazy(function, args, kwargs)
        except Exception as error:
            faults.raise_interruption(error)
            _report_failure(Lazy, error)
    return function(*args, **kwargs)


def failures() -> dict[str, int]:
    """How often each function failed, by module and qualified name."""
    return dict(_failures)


def defer(*, on: bool) -> None:
    """Set whether `lazy` defers its calls, which the spans of this process must support."""
    global _deferring
    _deferring = on


class Lazy:
    """A deferred call, made once when its value is first needed. `lazy` returns it while the fast path is on."""

    __slots__ = ("_call", "_results")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._call: Any = (function, args, kwargs)
        # Two threads that make the call at the same time both append their result; the first is used.
        self._results: list[Any] = []

    def value(self) -> Any:
        """The result of the call, which is made now if it was not made before.

        `FAILED` if the call raises an exception; `UNMADE` if the call itself asks for its value.
        """
        call = self._call
        if not self._results and call is not None:
            try:
                if not self._make(*call):
                    return UNMADE
            except Exception as error:
                faults.raise_interruption(error)
                _report_failure(Lazy, error)
                # The function may have been called; do not call it again.
                self._results = self._results or [FAILED]
            # Release the arguments.
            self._call = None
        return self._results[0]

    def _make(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Make the call; False if the call itself asks for its value."""
        makers = _being_made.get()
        if any(each is self for each in makers):
            return False
        token = _being_made.set((*makers, self))
        made = FAILED
        try:
            made = function(*args, **kwargs)
        except Exception as error:
            faults.raise_interruption(error)
            _report_failure(function, error)
        finally:
            _being_made.reset(token)
        self._results.append(made)
        return True

    def __str__(self) -> str:
        """The value as text, for stock's spans, which record `str` of a value of an unknown type."""
        return str(self.value())


def is_being_made() -> bool:
    """Whether this context is computing a lazy value, so that values can be `UNMADE`."""
    return bool(_being_made.get())


def _report_failure(function: Any, error: Exception) -> None:
    """Count the failure, and log the first one of each function. Never raises."""
    try:
        function = function.__func__ if isinstance(function, MethodType) else function
        named = function if isinstance(function, FunctionType | BuiltinFunctionType | type) else type(function)
        place = f"{named.__module__}.{named.__qualname__}"
        if _failures.add(place):
            _logger.error(
                "A lazy attribute value could not be made by %s; %r is recorded. Further failures are only counted.",
                place,
                FAILED,
                exc_info=error,
            )
    except Exception as fault:  # raised by a log handler: the host must not see it here
        faults.raise_interruption(fault)
