"""The current-span scope: what `use_span` and `start_as_current_span` return. Plain Python; compiled as `_scope_c`.

A class in the place of upstream's two nested generator context managers
(`opentelemetry.trace.use_span`, `opentelemetry.util._decorator`), with their order of events: start, attach; then
detach, record the exception, set the status, end.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from opentelemetry import context as _context_api
from opentelemetry import trace as _trace_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.trace.propagation import _SPAN_KEY
from opentelemetry.trace.span import INVALID_SPAN, NonRecordingSpan, Span
from opentelemetry.trace.status import Status, StatusCode
from opentelemetry.util._decorator import _AgnosticContextManager

from otel_fastpath.core import faults
from otel_fastpath.core.stack import record_under

if TYPE_CHECKING:
    from otel_fastpath.core._capi import *

# In the compiled twin COMPILED is a constant 1 of the .pxd, which also defines the c_ functions: the C API for what is
# a chain of calls in Python.
globals().setdefault("COMPILED", False)
# The current context's variable, used directly where the runtime context is upstream's own: two Python calls fewer.
_context_globals = vars(_context_api)
_trace_globals = vars(_trace_api)
_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None
# What `NoOpTracer.start_as_current_span` takes, and does not look at unless something is raised.
_WITHOUT_EFFECT = frozenset(
    {
        "kind",
        "attributes",
        "links",
        "start_time",
        "record_exception",
        "set_status_on_exception",
        "end_on_exit",
    }
)


def _attach(span: Any) -> Any:
    """What attach(set_span_in_context(span)) does."""
    if _context_globals["_RUNTIME_CONTEXT"] is not _runtime:
        return _context_api.attach(Context({**_context_api.get_current(), _SPAN_KEY: span}))
    if COMPILED:
        return c_attach(_variable, Context, _SPAN_KEY, span)
    current = _variable.get()
    return _variable.set(Context({**current, _SPAN_KEY: span} if current else {_SPAN_KEY: span}))


def _detach(token: Any) -> None:
    """What detach(token) does."""
    try:
        if _context_globals["_RUNTIME_CONTEXT"] is not _runtime:
            _context_api._RUNTIME_CONTEXT.detach(token)
        elif COMPILED:
            c_detach(_variable, token)
        else:
            _variable.reset(token)
    except Exception:
        _context_api.logger.exception("Failed to detach context")


def _decorate(scope: Any, func: Any) -> Any:
    # Upstream's own wrappers, so that stack traces show the same frames.
    if iscoroutinefunction(func):
        return _AgnosticContextManager.__call__(scope, func)
    return ContextDecorator.__call__(scope, func)


class Manner:
    """What all scopes of one kind have in common.

    Args:
        start: Starts the span when the scope is entered, given the owner and the arguments of `Tracer.start_span` in
            order; may return None. None where the owner is the span.
        instead: Starts the span where `start` is not there, fails by a fault of ours, or returns None.
        frames: The frames of upstream's generators that a recorded stack trace would show.
    """

    __slots__ = ("frames", "instead", "start")

    def __init__(self, start: Any, instead: Any, frames: Any) -> None:
        self.start = start
        self.instead = instead
        self.frames = frames


class Scope:
    """Makes a span current for a `with` block or for each call of a decorated function. Made by `new_scope`."""

    __slots__ = (
        "_attributes",
        "_context",
        "_end_on_exit",
        "_frames",
        "_kind",
        "_links",
        "_manner",
        "_name",
        "_owner",
        "_record_exception",
        "_set_status",
        "_span",
        "_start_time",
        "_state",
        "_token",
    )

    def _recreate_cm(self) -> Scope:
        if self._state:
            raise AttributeError("the scope was entered already; it is used once")
        scope = new_scope(
            self._manner,
            self._owner,
            self._name,
            self._context,
            self._kind,
            self._attributes,
            self._links,
            self._start_time,
            self._record_exception,
            self._set_status,
            self._end_on_exit,
        )
        scope._frames = self._frames
        return scope

    def __call__(self, func: Any) -> Any:
        """Decorate a function: each call gets a scope of its own, a coroutine function's until it is done."""
        return _decorate(self, func)

    def __enter__(self) -> Any:
        """Start the span, make it current, return it."""
        if self._state:
            raise AttributeError("the scope was entered already; it is used once")
        # Left already, unless the span starts and becomes current.
        self._state = 2
        manner = self._manner
        span = None
        if manner.start is not None:
            try:
                span = manner.start(
                    self._owner,
                    self._name,
                    self._context,
                    self._kind,
                    self._attributes,
                    self._links,
                    self._start_time,
                    self._record_exception,
                    self._set_status,
                )
            except Exception as error:
                faults.absorb("Tracer.start_as_current_span", error)
        if span is None:
            span = self._owner if manner.instead is None else self._start_instead()
        self._span = span
        self._token = _attach(span)
        self._state = 1
        return span

    def _start_instead(self) -> Any:
        return self._manner.instead(
            self._owner,
            self._name,
            self._context,
            self._kind,
            self._attributes,
            self._links,
            self._start_time,
            self._record_exception,
            self._set_status,
        )

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Restore the context, record what was raised, end the span. Never swallows an exception."""
        if self._state != 1:
            if self._state or kind is not None:
                # Left already, or never entered and left in an exception: nothing to do.
                return False
            raise RuntimeError("generator didn't stop")
        self._state = 2
        _detach(self._token)
        self._token = None
        if kind is not None:
            self._leave_with(kind if error is None else error)
        elif self._end_on_exit and type(self._span) is not NonRecordingSpan:
            self._span.end()
        return False

    def _leave_with(self, error: Any) -> None:
        span = self._span
        try:
            # Only what inherits Exception: opentelemetry-python issue 4484.
            if isinstance(error, Exception) and isinstance(span, Span) and span.is_recording():
                if self._record_exception:
                    escaping = getattr(span, "_record_escaping", None)
                    if escaping is None:
                        record_under(span, error, self._frames)
                    else:
                        escaping(error, self._frames)
                if self._set_status:
                    span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
        finally:
            if self._end_on_exit:
                span.end()

    def __del__(self) -> None:
        # A scope that was entered and dropped: upstream's generators restore the context and end the span when they
        # are collected. One that could not be entered has nothing to restore.
        if self._state == 1 and self._token is not None:
            try:
                raise GeneratorExit  # noqa: TRY301  # what upstream logs here is logged while this one is handled
            except GeneratorExit:
                self.__exit__(GeneratorExit, None, None)


def new_scope(
    manner: Any,
    owner: Any,
    name: Any,
    context: Any,
    kind: Any,
    attributes: Any,
    links: Any,
    start_time: Any,
    record_exception: Any,
    set_status_on_exception: Any,
    end_on_exit: Any,
) -> Scope:
    """A scope that was not entered.

    Args:
        manner: What it has in common with others.
        owner: The tracer that starts the span, or the span itself.
        name: As in `Tracer.start_span`.
        context: As there.
        kind: As there.
        attributes: As there.
        links: As there.
        start_time: As there.
        record_exception: As in `opentelemetry.trace.use_span`.
        set_status_on_exception: As there.
        end_on_exit: As there.
    """
    scope = Scope.__new__(Scope)
    scope._manner = manner
    scope._owner = owner
    scope._name = name
    scope._context = context
    scope._kind = kind
    scope._attributes = attributes
    scope._links = links
    scope._start_time = start_time
    scope._record_exception = record_exception
    scope._set_status = set_status_on_exception
    scope._end_on_exit = end_on_exit
    scope._frames = manner.frames
    scope._span = None
    scope._token = None
    scope._state = 0  # 1: entered, 2: left
    return scope


def _add_frames(scope: Any, frames: Any) -> None:
    scope._frames = scope._frames + frames


class ProxyScope:
    """The scope of a `ProxyTracer`: the real tracer's, which is looked up on entering.

    Args:
        tracer: The proxy.
        args: For the real tracer's `start_as_current_span`.
        kwargs: Likewise.
        frames: The frame of upstream's generator, as for `Scope`.
    """

    __slots__ = ("_args", "_frames", "_inner", "_kwargs", "_token", "_tracer")

    def __init__(self, tracer: Any, args: Any, kwargs: Any, frames: Any) -> None:
        self._tracer = tracer
        self._frames = frames
        self._args = args
        self._kwargs = kwargs
        self._inner: Any = None
        self._token: Any = None

    def _recreate_cm(self) -> ProxyScope:
        return ProxyScope(self._tracer, self._args, self._kwargs, self._frames)

    def __call__(self, func: Any) -> Any:
        """Decorate a function: each call gets a scope of its own, a coroutine function's until it is done."""
        return _decorate(self, func)

    def __enter__(self) -> Any:
        """Enter the real tracer's scope."""
        if self._inner is not None or self._token is not None:
            raise AttributeError("the scope was entered already; it is used once")
        if (
            _trace_globals["_TRACER_PROVIDER"] is None
            and len(self._args) == 1
            and self._kwargs.keys() <= _WITHOUT_EFFECT
        ):
            span = self._enter_no_op()
            if span is not None:
                return span
        inner = self._tracer._tracer.start_as_current_span(*self._args, **self._kwargs)
        if type(inner) is Scope:
            _add_frames(inner, self._frames)
        self._inner = inner
        return inner.__enter__()

    def _enter_no_op(self) -> Any:
        """What `NoOpTracer` does with no recording span around, or None."""
        if _context_globals["_RUNTIME_CONTEXT"] is not _runtime or self._tracer._real_tracer is not None:
            return None
        span = c_current(_variable, _SPAN_KEY) if COMPILED else _variable.get().get(_SPAN_KEY)
        if span is None:
            span = INVALID_SPAN
        elif type(span) is not NonRecordingSpan:
            return None
        self._token = _attach(span)
        return span

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Leave it."""
        token = self._token
        if token is not None:
            self._token = None
            self._inner = self
            _detach(token)
            return False
        if self._inner is self:
            return False
        if self._inner is None:
            raise RuntimeError("generator didn't stop")
        return self._inner.__exit__(kind, error, traceback)

    def __del__(self) -> None:
        # As for `Scope`: entered and dropped.
        if self._token is not None:
            _detach(self._token)
