"""Attribute values that are made only when somebody reads or exports them."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.locks import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)

FAILED: Final = "<lazy attribute value failed>"
# What a value gives that the SDK drops as not valid, as it does before 1.45: there is no such attribute.
DROPPED: Final = object()
# What a value that is being made looks like to the function that makes it.
UNMADE: Final = "<lazy attribute value is being made>"

_deferring = False
_failures: Final = Tally()
_being_made: ContextVar[tuple[Lazy, ...]] = ContextVar("otel_fastpath_lazy", default=())


def lazy(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Put off making an attribute value until it is needed.

    `span.set_attribute("k", lazy(json.dumps, message))`: the call is made once, when a processor or somebody else reads
    the span's attributes, or in the export thread; never for a span that is not recording. Its result is cleaned and
    limited as a value given at once would be. The arguments are kept by reference: what they refer to is read when the
    call is made, so hand over what does not change, or a copy. Where the call raises, the value is `FAILED`; the first
    failure of each function is logged, all are counted, see `failures`.

    No lock is held meanwhile. Threads that need the value at the same moment may each make the call; the first result
    counts. The function may read the span that the value belongs to: that value, and others whose making led here, are
    `UNMADE` to it. What it sets on this span may get lost.

    Without the fast path the call is made here and now, and its result or exception is the caller's.
    """
    if _deferring:
        try:
            return Lazy(function, args, kwargs)
        except Exception as error:
            _failed(Lazy, error)
    return function(*args, **kwargs)


def failures() -> dict[str, int]:
    """How often the calls of each function failed: module and qualified name -> number."""
    return dict(_failures)


def defer(*, on: bool) -> None:
    """Let `lazy` put its calls off, or no more: whether the spans of this process can hold what it returns."""
    global _deferring
    _deferring = on


class Lazy:
    """A call that is made once, when its value is first needed. What `lazy` returns while the fast path is on."""

    __slots__ = ("_call", "_results")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._call: Any = (function, args, kwargs)
        # Two threads that make the call at once both add theirs; the first counts.
        self._results: list[Any] = []

    def value(self) -> Any:
        """Make the call, unless it was made; its failure gives `FAILED`, and `UNMADE` if it is this call that asks."""
        call = self._call
        if not self._results and call is not None:
            try:
                if not self._make(*call):
                    return UNMADE
            except Exception as error:
                _failed(Lazy, error)
                # No second call of the function, which may have been made.
                self._results = self._results or [FAILED]
            # The arguments are not kept alive any longer.
            self._call = None
        return self._results[0]

    def _make(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Make the call; False if it is this call that asks."""
        makers = _being_made.get()
        if any(each is self for each in makers):
            return False
        token = _being_made.set((*makers, self))
        made = FAILED
        try:
            made = function(*args, **kwargs)
        except Exception as error:
            _failed(function, error)
        finally:
            _being_made.reset(token)
        self._results.append(made)
        return True

    def __str__(self) -> str:
        """The value as text, for a span that upstream records and that takes any unknown value's text."""
        return str(self.value())


def is_being_made() -> bool:
    """Whether a lazy value is being made here, so that values can be `UNMADE`."""
    return bool(_being_made.get())


def _failed(function: Any, error: Exception) -> None:
    """Count the failure, log the first of each function. Never raises."""
    try:
        function = function.__func__ if isinstance(function, MethodType) else function
        named = function if isinstance(function, FunctionType | BuiltinFunctionType | type) else type(function)
        place = f"{named.__module__}.{named.__qualname__}"
        if _failures.add(place):
            _logger.error(
                "A lazy attribute value could not be made by %s; %r is recorded instead. Logged once, counted further.",
                place,
                FAILED,
                exc_info=error,
            )
    except Exception:  # noqa: S110  # a handler of somebody's own: it is not for the host to meet that here
        pass
