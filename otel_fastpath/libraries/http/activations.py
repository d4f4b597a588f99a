"""A span that is the current one from one function of a framework's to another.

Plain Python; compiled as `activations_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.context.context import Context

from otel_fastpath.compiled.helpers import with_value
from otel_fastpath.libraries.http.parents import activated, attached, taken_back
from otel_fastpath.libraries.http.responses import failed
from otel_fastpath.libraries.starting import end_span
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import current, with_span

if TYPE_CHECKING:
    from typing_extensions import Self

_PLACE = "the span of a request"


class Activation:
    """What `use_span(span, end_on_exit=True)` returns, entered, and the context of the remote parent below it.

    If nobody leaves it, as after an exception in other code, it is left when it is collected, as upstream's generator.

    Args:
        span: The span.
        below: Takes back the context of the remote parent; None if it is not the current one.
        key: A further key of the context in which the span is current, or None.
        value: Its value.
    """

    __slots__ = ("_below", "_is_left", "_token", "span")

    def __init__(self, span: Any, below: Any, key: str | None = None, value: Any = None) -> None:
        self.span = span
        self._below = below
        self._token: Any = None
        self._is_left = False
        try:
            if key is None:
                self._token = activated(span)
            else:
                self._token = attached(with_value(Context, with_span(current(), span), key, value))
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def __enter__(self) -> Self:
        """It is entered already."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Leave it."""
        self.leave(error)

    def __del__(self) -> None:
        """Leave it, unless that was done; an interrupt can come before there is anything to leave."""
        try:
            is_left = self._is_left
        except AttributeError:
            return
        if not is_left:
            self.leave(None)

    def leave(self, error: BaseException | None) -> None:
        """Take back the contexts and end the span, of a request that failed with this exception."""
        if self._is_left:
            return
        self._is_left = True
        taken_back(self._token)
        try:
            if isinstance(error, Exception):
                failed(self.span, error)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)
        finally:
            try:
                end_span(self.span, _PLACE)
            finally:
                taken_back(self._below)
