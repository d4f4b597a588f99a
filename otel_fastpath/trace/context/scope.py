"""The current-span scope: what `use_span` and `start_as_current_span` return. Plain Python; compiled as `scope_c`.

A class that replaces stock's two nested generator context managers
(`opentelemetry.trace.use_span`, `opentelemetry.util._decorator`), with their order of events: start, attach; then
detach, record the exception, set the status, end.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING

from opentelemetry.trace.span import NonRecordingSpan, Span
from opentelemetry.trace.status import Status, StatusCode
from opentelemetry.util._decorator import _AgnosticContextManager

from otel_fastpath.compiled.helpers import drop_finalizer
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.patching import faults
from otel_fastpath.trace.context.current_context import attach, attach_as_stock, detach, restore
from otel_fastpath.trace.spans.identity import Dropped
from otel_fastpath.trace.stack_traces import record_under

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import Any, Literal, TypeVar

    from opentelemetry.context import Context

    from otel_fastpath.trace.stack_traces import Frame

    _Token = Token[Context] | tuple[Token[Context]]
    _S = TypeVar("_S", bound="Scope")


# Stock's own functions, so that stack traces show the same frames.
_stock_decorate = ContextDecorator.__call__
_stock_decorate_async = _AgnosticContextManager.__call__


def decorate(scope: Any, func: Callable[..., object]) -> Callable[..., object]:
    """Decorate a function, as stock's context manager does. Adds no exceptions of its own."""
    is_async = False
    try:
        is_async = iscoroutinefunction(func)
    except Exception as error:
        faults.absorb_any("decorating a function with a span", error)
    return _stock_decorate_async(scope, func) if is_async else _stock_decorate(scope, func)


def raise_as_generator(error: BaseException) -> None:
    """Raise what stock's generators raise in the place of `StopIteration`, which would end a loop of the caller's."""
    if isinstance(error, StopIteration):
        raised = RuntimeError("generator raised StopIteration")
        # It is no fault of this package's.
        faults.blame_others(raised)
        try:
            raise raised from error
        finally:
            # An exception and its frame would refer to each other.
            del raised


class ScopeKind:
    """What all scopes of one kind have in common.

    Args:
        instead: Starts the span when the scope is entered; called with `Scope._start`. None if the span is given.
        frames: The frames of stock's generators that a recorded stack trace would show.
    """

    __slots__ = ("below_proxy", "frames", "instead", "scope_class")

    def __init__(self, instead: Callable[..., Span] | None, frames: tuple[Frame, ...]) -> None:
        self.instead = instead
        self.frames = frames
        self.scope_class: type[Scope] = OpenScope
        # The same with the frame of a proxy's generator; see `current_span`.
        self.below_proxy: ScopeKind | None = None

    def with_frames(self, frames: tuple[Frame, ...]) -> ScopeKind:
        """The same with other frames."""
        return ScopeKind(self.instead, frames)


class Scope:
    """Makes a span current for a `with` block or for each call of a decorated function.

    Its creator sets `_manner`, `_start` (the tracer and the arguments of its `start_span` in order, or the span,
    whether to record what is raised, and whether to set the status then), `_end_on_exit`, and `_state` to 0.
    """

    __slots__ = ("_end_on_exit", "_manner", "_span", "_start", "_state", "_token")
    _end_on_exit: bool
    _manner: ScopeKind
    _span: Span
    _start: tuple[object, ...]
    _state: int
    _token: _Token | None

    def _recreate_cm(self) -> Scope:
        if self._state:
            raise AttributeError("the scope was entered already; it is used once")
        kind = self._manner.scope_class
        try:
            return fill(kind.__new__(kind), self._manner, self._start, self._end_on_exit)
        except Exception as error:
            # Stock has nothing to fall back on here, so the fields are set directly.
            faults.absorb_any("a decorated function's span", error)
            scope = kind.__new__(kind)
            scope._manner, scope._start = self._manner, self._start
            scope._end_on_exit, scope._state = self._end_on_exit, 0
            scope._span = scope._token = None  # type: ignore[assignment]  # not entered yet
            return scope

    def __call__(self, func: Callable[..., object]) -> Callable[..., object]:
        """Decorate a function: each call gets its own scope, which lasts until the function or coroutine is done."""
        if not self._state:
            drop_finalizer(self, Scope)
        return decorate(self, func)

    def _start_span(self) -> Span:
        """The span, started now or given."""
        return self._start_as_stock()

    def _start_as_stock(self) -> Span:
        original = self._manner.instead
        return self._start[0] if original is None else original(*self._start)  # type: ignore[return-value]  # see `_start`

    def __enter__(self) -> Span:
        """Start the span, make it current, return it."""
        # Counts as left until the span has been started and made current.
        if not try_leave(self, 0):
            raise AttributeError("the scope was entered already; it is used once")
        try:
            try:
                self._span = span = self._start_span()
            except Exception as error:
                faults.absorb("Tracer.start_as_current_span", error)
                self._span = span = self._start_as_stock()
            try:
                self._token = attach(span)
            except Exception as error:
                faults.absorb("making a span current", error)
                self._token = attach_as_stock(span)
            self._state = 1
            return span  # noqa: TRY300  # an exception may still arrive here
        except BaseException as error:
            # The block is not entered, so nothing else will leave it.
            self._state = 2
            self._leave_as_stock()
            drop_finalizer(self, Scope)
            raise_as_generator(error)
            raise

    def __exit__(self, kind: object, error: object, traceback: object) -> Literal[False]:
        """Restore the context, record what was raised, end the span. Never swallows an exception."""
        try:
            if try_leave(self, 1):
                detach(self._token)  # type: ignore[arg-type]  # set when it was entered
                self._token = None
                if kind is not None:
                    self._record_error(kind if error is None else error)
                span = self._span
                # Spans of these two types record nothing, and their `end` does nothing.
                if self._end_on_exit and not isinstance(span, Dropped) and type(span) is not NonRecordingSpan:
                    span.end()
                drop_finalizer(self, Scope)
                return False
        except BaseException as fault:
            # It may have arrived before the scope counted as left.
            self._state = 2
            self._leave_as_stock()
            drop_finalizer(self, Scope)
            raise_as_generator(fault)
            if not isinstance(self._span, Span):
                # What the application gave to `use_span` cannot be ended, as with stock.
                raise
            faults.absorb("leaving a span's scope", fault)
        if self._state or kind is not None:
            # Left already, or never entered and left in an exception: nothing to do.
            return False
        raise RuntimeError("generator didn't stop")

    def _leave_as_stock(self) -> None:
        """Restore the context and end the span after entering or leaving the scope failed."""
        if self._token is not None:
            restore(self._token)
            self._token = None
        span = self._span
        if self._end_on_exit and hasattr(span, "is_recording") and span.is_recording():
            span.end()

    def _record_error(self, error: object) -> None:
        """Record what was raised, and set the status."""
        span = self._span
        # Only what inherits Exception: opentelemetry-python issue 4484.
        if isinstance(error, Exception) and isinstance(span, Span) and span.is_recording():
            if self._start[-2]:
                # Looked up on the type: an object that delegates to one of our spans may record in its own way.
                records = getattr(type(span), "_is_escape_recorded", None)
                if records is None or not records(span, error, self._manner.frames):
                    record_under(span.record_exception, error, self._manner.frames, error)
            if self._start[-1]:
                # Not formatted once more: the text may be of a subclass of `str`.
                text = "".join((type(error).__name__, ": ", faults.text_of(error, format)))
                span.set_status(Status(StatusCode.ERROR, text))


class OpenScope(Scope):
    """A scope that has not been left, which the garbage collector leaves if nobody else does.

    What is raised in a finalizer, such as a time limit by a signal, reaches nobody: a scope that was left has none.
    """

    __slots__ = ()

    def __del__(self) -> None:
        # The scope was entered but never left. Stock's generators then restore the context and end the span when
        # they are garbage-collected. A scope that could not be entered has nothing to restore.
        try:
            is_entered = self._state == 1
        except AttributeError:
            # In plain Python: an interrupt came before its creator had set it.
            return
        if is_entered:
            try:
                raise GeneratorExit  # noqa: TRY301  # stock logs while it handles this exception
            except GeneratorExit:
                self.__exit__(GeneratorExit, None, None)


@critical_section
def try_leave(scope: Scope, state: int) -> bool:
    """Count the scope as left, if this was its state; of several threads that enter or leave it, one does."""
    if scope._state != state:
        return False
    scope._state = 2
    return True


def fill(scope: _S, manner: ScopeKind, start: tuple[object, ...], end_on_exit: bool) -> _S:
    """Set the fields of a scope that has not been entered; return it."""
    scope._manner = manner
    scope._start = start
    scope._end_on_exit = end_on_exit
    scope._span = scope._token = None  # type: ignore[assignment]  # not entered yet
    scope._state = 0  # 1: entered, 2: left
    return scope


def add_frames(scope: Scope, frames: tuple[Frame, ...]) -> None:
    """Add these frames to the stack traces that the scope records."""
    manner = scope._manner
    if manner.below_proxy is None:
        manner.below_proxy = manner.with_frames(manner.frames + frames)
    scope._manner = manner.below_proxy
