"""A span that is the current one from one function of a framework's to another.

Plain Python; compiled as `activations_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api
from opentelemetry.context.context import Context
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.libraries.http.parents import activated, attached
from otel_fastpath.libraries.http.responses import failed
from otel_fastpath.trace.current_context import current, detach

if TYPE_CHECKING:
    from typing_extensions import Self


class Activation:
    """What `use_span(span, end_on_exit=True)` returns, entered, and the context of the remote parent below it.

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
        self._is_left = False
        self._token: Any = None
        if key is None:
            self._token = activated(span)
        else:
            self._token = attached(Context({**current(), _SPAN_KEY: span, key: value}))

    def __enter__(self) -> Self:
        """It is entered already."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Leave it."""
        self.leave(error)

    def _take_back(self) -> None:
        token = self._token
        try:
            detach(token)
        except Exception:
            # Other code has replaced the API's function.
            context_api._RUNTIME_CONTEXT.detach(token[0] if type(token) is tuple else token)
            raise

    def leave(self, error: BaseException | None) -> None:
        """Take back the contexts and end the span, of a request that failed with this exception."""
        if self._is_left:
            return
        self._is_left = True
        try:
            self._take_back()
            if isinstance(error, Exception):
                failed(self.span, error)
        finally:
            try:
                self.span.end()
            finally:
                if self._below is not None:
                    detach(self._below)
