"""What stands in the place of `opentelemetry.sdk.trace.Tracer`'s methods. Plain Python; compiled as `_tracer_c`."""

from __future__ import annotations

import contextvars
import sys
import sysconfig
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.core import faults

if TYPE_CHECKING:
    from otel_fastpath.core._attach import *
    from otel_fastpath.core._capi import *

# In the compiled twin COMPILED is a constant 1 of `_capi.pxd`; that and `_attach.pxd` define the c_ functions.
globals().setdefault("COMPILED", False)
if not COMPILED:
    from otel_fastpath.core._identity import *
    from otel_fastpath.core._scope import *
    from otel_fastpath.core._span import *
    from otel_fastpath.core._start import *

_context_globals = vars(_context_api)
_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None
_OUTERMOST = contextvars.Context().run(_variable.get) if _is_plain else None
_set_default = dict.setdefault
_INTERNAL = SpanKind.INTERNAL
_NO_LINKS = ()
# Scopes that were left, each with the context that it made current and a dropped span in there, if nobody else has
# them. Compiled core only.
_last_left: Any = None
_are_left = 0
_MOST_LEFT = 8
# Of the pure core: the last scope that was left. No other thread takes its turn between a look at it and a change.
_left: list[Any] = [None]
# How many references it has then: by a name, and as the argument of who counts. What 3.14 counts depends on the code
# around, and where there is no GIL others count meanwhile: there no number is right.
_COUNTS = sys.version_info < (3, 14) and not sysconfig.get_config_var("Py_GIL_DISABLED")
_ALONE = 2 if _COUNTS else -1


class TracerScope(Scope):
    """What `Tracer.start_as_current_span` returns: starts its span without a way through the tracer's methods."""

    # Of the compiled core: `_start` is None where there is but a tracer and a name.
    __slots__ = ("_context", "_left_before", "_name", "_tracer")

    def _recreate_cm(self) -> Any:
        if COMPILED and self._start is None:
            self._start = _spelled_out(self)
        return Scope._recreate_cm(self)

    def __enter__(self) -> Any:
        """Start the span, make it current, return it."""
        if self._state:
            raise AttributeError("the scope was entered already; it is used once")
        # Left already, unless the span starts and becomes current.
        self._state = 2
        span = None
        start, manner = self._start, self._manner
        try:
            if COMPILED:
                span = _started(self, manner, start)
            elif type(start[0]) is manner.tracer_class and manner.methods["start_span"] is manner.ours:
                span = start_span(*start)
        except Exception as error:
            faults.absorb("Tracer.start_as_current_span", error)
            # Not by way of the tracer's method, which is ours and would fail once more.
            start = _spelled_out(self)
            span = manner.ours.__wrapped__(*start)
        if span is None:
            span = manner.instead(*_spelled_out(self))
        self._span = span
        if COMPILED:
            _make_current(self, span)
        elif _context_api._RUNTIME_CONTEXT is not _runtime:
            self._token = attach(span)
            self._state = 3
            return span
        else:
            # What `attach` does, without the call.
            current = _variable.get()
            if current is _OUTERMOST or not current or (len(current) == 1 and _SPAN_KEY in current):
                context = Context()
                _set_default(context, _SPAN_KEY, span)
                self._token = _variable.set(context)
            else:
                self._token = _variable.set(Context({**current, _SPAN_KEY: span}))
        self._state = 1
        return span

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Restore the context, record what was raised, end the span. Never swallows an exception."""
        if kind is not None or self._state != 1:
            if COMPILED and self._state == 1:
                self._context = None
                self._start = _spelled_out(self)
            if self._state & 1:
                self._state = 1
            # Not to be used again: its finalizer, which runs but once, may have called this.
            return self._leave(kind, error)
        self._state = 2
        if COMPILED:
            _leave_as_found(self)
            return False
        span, token = self._span, self._token
        self._start = self._span = self._token = None
        try:
            _variable.reset(token)
        except Exception:
            _context_api.logger.exception("Failed to detach context")
        if self._end_on_exit and not isinstance(span, Dropped):
            span.end()
        _left[0] = self
        return False


class TracerManner(Manner):
    """What the scopes of `Tracer` have in common.

    Args:
        instead: As in `Manner`.
        frames: Likewise.
        tracer_class: Upstream's `Tracer`.
        ours: The function in the place of its `start_span`, or None where there is none of ours.
    """

    __slots__ = ("methods", "ours", "tracer_class", "version")

    def __init__(self, instead: Any, frames: Any, tracer_class: Any, ours: Any) -> None:
        self.instead = instead
        self.frames = frames
        self.below_proxy = None
        self.tracer_class = tracer_class
        self.methods = None if tracer_class is None else vars(tracer_class)
        self.ours = ours
        # Of the class, when `ours` was last seen there.
        self.version = 0

    def with_frames(self, frames: Any) -> Any:
        """The same with other frames."""
        return TracerManner(self.instead, frames, self.tracer_class, self.ours)


def _started(scope: Any, manner: Any, start: Any) -> Any:
    """The span of a scope that is entered; None where the tracer's `start_span` is not the function of ours."""
    if start is None:
        if not _is_ours(manner, scope._tracer):
            return None
        name = scope._name
        spare = scope._span
        return start_span(scope._tracer, name, None, _INTERNAL, None, _NO_LINKS, None, True, True, spare)  # noqa: FBT003
    if not _is_ours(manner, start[0]):
        return None
    return start_span(
        start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7], start[8], scope._span
    )


def _spelled_out(scope: Any) -> Any:
    """The arguments of `start_span`, in order."""
    if scope._start is not None:
        return scope._start
    return (scope._tracer, scope._name, None, _INTERNAL, None, _NO_LINKS, None, True, True)


def _make_current(scope: Any, span: Any) -> None:
    """Make the span the current one in the scope's own context, a spare one where that will do."""
    if c_is_global(_context_globals, "_RUNTIME_CONTEXT", _runtime):
        scope._context = c_succeeding(_variable, Context, _SPAN_KEY, span, scope._context)
        scope._token = c_set(_variable, scope._context)
    else:
        scope._context = None
        scope._token = attach(span)


def _unused_scope() -> Any:
    """The last scope that was left, if nobody else holds it; else a new one."""
    global _last_left, _are_left
    scope = _last_left
    if scope is not None:
        _last_left = scope._left_before
        _are_left -= 1
        scope._left_before = None
        if c_holders(scope) == 1:
            return scope
        scope._span = scope._context = None
    return TracerScope.__new__(TracerScope)


def _filled_plainly(scope: Any, manner: Any, tracer: Any, name: Any, end_on_exit: Any) -> Any:
    """The scope, as one that was not entered and starts its span with a name only."""
    scope._manner = manner
    scope._tracer = tracer
    scope._name = name
    scope._end_on_exit = end_on_exit
    scope._state = 0
    return scope


def _leave_as_found(scope: Any) -> None:
    """Restore the context, end the span, and keep what nobody else has for a next one."""
    span = scope._span
    context = scope._context
    # To count who has them.
    scope._span = scope._context = None
    if context is None or not c_was_reset(_variable, scope._token):
        detach(scope._token)
    scope._token = None
    if context is not None and isinstance(span, Dropped) and c_is_pair(context, Context, _SPAN_KEY, span):
        dropped = span
        dropped.made_context = dropped.trace_state = None
        _let_go(scope, span, context)
        return
    if context is not None and not c_is_emptied(context, Context, _SPAN_KEY):
        context = None
    if scope._end_on_exit:
        if isinstance(span, SpanState) and c_is_bare(span):
            SpanState.end(span)
        elif not isinstance(span, Dropped):
            span.end()
    _let_go(scope, None, context)


def _let_go(scope: Any, span: Any, context: Any) -> None:
    """Keep a scope that was left for a next span, with nothing that anybody else has."""
    global _last_left, _are_left
    scope._span = span
    scope._start = None
    scope._tracer = None
    scope._name = None
    scope._context = context
    if _are_left < _MOST_LEFT:
        scope._left_before = _last_left
        _last_left = scope
        _are_left += 1


def _is_ours(common: Any, tracer: Any) -> Any:
    """Whether the tracer's `start_span` is the function of ours: a look at the class once for each of its versions."""
    manner = common
    if type(tracer) is not manner.tracer_class:
        return False
    if manner.version and manner.version == c_version(manner.tracer_class):
        return True
    if manner.tracer_class.start_span is not manner.ours:
        return False
    manner.version = c_version(manner.tracer_class)
    return True


def bind_start_span(original: Any) -> Any:
    """What stands in the place of `Tracer.start_span`."""
    switch = Switch()

    def start(
        self: Any,
        name: Any,
        context: Any = None,
        kind: Any = _INTERNAL,
        attributes: Any = None,
        links: Any = (),
        start_time: Any = None,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
    ) -> Any:
        if not COMPILED or not is_inert(switch):
            try:
                span = start_span(
                    self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
                )
                if span is not None:
                    return span
            except Exception as error:
                faults.absorb("Tracer.start_span", error)
        return original(
            self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        )

    return patching(original, start, switch)


def bind_start_as_current_span(original: Any, instead: Any, frames: Any, tracer_class: Any, ours: Any) -> Any:
    """What stands in the place of `Tracer.start_as_current_span`; the rest is as in `TracerManner`."""
    switch, manner = Switch(), TracerManner(instead, frames, tracer_class, ours)

    def start_as_current_span(
        self: Any,
        name: Any,
        context: Any = None,
        kind: Any = _INTERNAL,
        attributes: Any = None,
        links: Any = (),
        start_time: Any = None,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
        end_on_exit: Any = True,
    ) -> Any:
        if not COMPILED:
            # What `_unused_scope` and `filled` do, without the calls.
            scope = _left[0]
            _left[0] = None
            if getrefcount(scope) != _ALONE:
                scope = TracerScope()
            start = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
            scope._start = start
            scope._manner = manner
            scope._end_on_exit = end_on_exit
            scope._state = 0
            return scope
        if is_inert(switch):
            return original(
                self,
                name,
                context,
                kind,
                attributes,
                links,
                start_time,
                record_exception,
                set_status_on_exception,
                end_on_exit,
            )
        if (
            context is None
            and kind is _INTERNAL
            and attributes is None
            and links is _NO_LINKS
            and start_time is None
            and record_exception is True
            and set_status_on_exception is True
        ):
            return _filled_plainly(_unused_scope(), manner, self, name, end_on_exit)
        start = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        return filled(_unused_scope(), manner, start, end_on_exit)

    return patching(original, start_as_current_span, switch)
