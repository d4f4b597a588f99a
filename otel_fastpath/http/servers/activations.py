"""A span that is the current one from one function of a framework's to another.

Plain Python; compiled as `activations_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.context.context import Context

from otel_fastpath.compiled.helpers import drop_finalizer, with_value
from otel_fastpath.http.scopes import activate, detach_token, make_current
from otel_fastpath.http.servers.parents import start
from otel_fastpath.http.servers.responses import record_error
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import current, with_span
from otel_fastpath.trace.spans.identity import Dropped
from otel_fastpath.wrapping.starting import end_span

if TYPE_CHECKING:
    from typing_extensions import Self

_PLACE = "the span of a request"


class Activation:
    """What `use_span(span, end_on_exit=True)` returns, and the context of the remote parent below it.

    It is made as an `OpenActivation`: if nobody leaves it, as after an exception in other code, it is left when it is
    collected, as stock's generator.

    Attributes:
        span: The span; None before it has started.
    """

    __slots__ = ("_below", "_is_ended", "_is_left", "_remote", "_token", "span")

    def __init__(self) -> None:
        self.span: Any = None
        self._below: Any = None
        self._remote: Any = None
        self._token: Any = None
        self._is_ended = self._is_left = False

    def start(
        self, tracer: Any, name: str, environ: dict[str, Any], attributes: dict[str, Any], start_time: int | None = None
    ) -> Any:
        """Start the span of a request as `parents.start` does, and return it."""
        self.span, self._remote, self._below = start(tracer, name, environ, attributes, start_time)
        return self.span

    def enter_remote(self, context: Context) -> None:
        """Make the context of the remote parent the current one, until `suspend`."""
        self._remote = context
        self.resume()

    def activate(self, key: str | None = None, value: Any = None) -> None:
        """Make the span the current one.

        Args:
            key: A further key of the context in which the span is current, or None.
            value: Its value.
        """
        try:
            if key is None:
                self._token = activate(self.span)
            else:
                context = current() if self.span is None else with_span(current(), self.span)
                self._token = make_current(with_value(Context, context, key, value))
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def deactivate(self) -> None:
        """Undo `activate`."""
        if self._token is not None:
            detach_token(self._token)
            self._token = None

    def suspend(self) -> None:
        """Take back the context of the remote parent, until `resume`: another request may be served in this thread."""
        detach_token(self._below)
        self._below = None

    def resume(self) -> None:
        """Make the context of the remote parent the current one again."""
        if self._remote is not None:
            try:
                self._below = make_current(self._remote)
            except Exception as fault:
                faults.absorb_any(_PLACE, fault)

    def record(self, error: Exception) -> None:
        """Record an exception of the application on the span."""
        try:
            record_error(self.span, error)
        except Exception as fault:
            faults.absorb_any(_PLACE, fault)

    def __enter__(self) -> Self:
        """It is the current one already."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Leave it."""
        self.leave(error)

    def leave(self, error: BaseException | None) -> None:
        """Take back the contexts and end the span, of a request that failed with this exception."""
        if self._is_left:
            return
        self._is_left = True
        try:
            self._leave(error)
        except BaseException:
            self._leave(None)
            raise
        finally:
            drop_finalizer(self, Activation)

    def _leave(self, error: BaseException | None) -> None:
        """What was not done yet."""
        self.deactivate()
        try:
            if isinstance(error, Exception) and self.span is not None:
                self.record(error)
        finally:
            try:
                self.end()
            finally:
                self.suspend()

    def end(self) -> None:
        """End the span, once."""
        # To end one that was dropped does nothing.
        if self.span is None or self._is_ended or isinstance(self.span, Dropped):
            return
        try:
            end_span(self.span, _PLACE)
        except BaseException:
            # It may have arrived before the span had ended.
            self._is_ended = not self.span.is_recording()
            raise
        self._is_ended = True


class OpenActivation(Activation):
    """One that nobody has left; as `trace.context.scope.OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        """Leave it, unless that was done; an interrupt can come before there is anything to leave."""
        try:
            is_left = self._is_left
        except AttributeError:
            return
        if not is_left:
            self.leave(None)
