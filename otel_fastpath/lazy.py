"""Attribute values that are made only when somebody reads or exports them."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_logger = logging.getLogger(__name__)

FAILED: Final = "<lazy attribute value failed>"

_deferring = False


def lazy(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Put off making an attribute value until it is needed.

    `span.set_attribute("k", lazy(json.dumps, message))`: the call is made once, when a processor or somebody else reads
    the span's attributes, or in the export thread; never for a span that is not recording. Its result is cleaned and
    limited as a value given at once would be. The arguments are kept by reference: what they refer to is read when the
    call is made, so hand over what does not change, or a copy. Where the call raises, the value is `FAILED` and one
    line is logged.

    Without the fast path the call is made here and now, and its result or exception is the caller's.
    """
    return Lazy(function, args, kwargs) if _deferring else function(*args, **kwargs)


def defer(*, on: bool) -> None:
    """Let `lazy` put its calls off, or no more: whether the spans of this process can hold what it returns."""
    global _deferring
    _deferring = on


class Lazy:
    """A call that is made once, when its value is first needed. What `lazy` returns while the fast path is on."""

    __slots__ = ("_call", "_lock", "_value")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._call: Any = (function, args, kwargs)
        self._lock = threading.Lock()
        self._value: Any = None

    def value(self) -> Any:
        """Make the call, unless it was made; its failure gives `FAILED` and one log line."""
        with self._lock:
            if self._call is not None:
                function, args, kwargs = self._call
                try:
                    self._value = function(*args, **kwargs)
                except Exception:
                    _logger.exception("A lazy attribute value could not be made; %r is recorded instead.", FAILED)
                    self._value = FAILED
                # The arguments are not kept alive any longer.
                self._call = None
        return self._value

    def __str__(self) -> str:
        """The value as text, for a span that upstream records and that takes any unknown value's text."""
        return str(self.value())
