"""What stands in the place of `opentelemetry.sdk.trace.Tracer`'s methods. Plain Python; compiled as `_tracer_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as _context_api
from opentelemetry.context.context import Context
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.core import faults

if TYPE_CHECKING:
    from otel_fastpath.core._capi import *

# In the compiled twin COMPILED is a constant 1 of `_capi.pxd`, which also defines the c_ functions.
globals().setdefault("COMPILED", False)
if not COMPILED:
    from otel_fastpath.core._identity import *
    from otel_fastpath.core._scope import *
    from otel_fastpath.core._span import *
    from otel_fastpath.core._start import *

_is_plain = type(_context_api._RUNTIME_CONTEXT) is ContextVarsRuntimeContext
_runtime: Any = _context_api._RUNTIME_CONTEXT if _is_plain else object()
_variable: Any = _context_api._RUNTIME_CONTEXT._current_context if _is_plain else None
_set_default = dict.setdefault
_INTERNAL = SpanKind.INTERNAL
_last_left: Any = None


class TracerScope(Scope):
    """What `Tracer.start_as_current_span` returns: starts its span without a way through the tracer's methods."""

    __slots__ = ()

    def __enter__(self) -> Any:
        """Start the span, make it current, return it."""
        if self._state:
            raise AttributeError("the scope was entered already; it is used once")
        # Left already, unless the span starts and becomes current.
        self._state = 2
        span = None
        manner: Any = self._manner
        start = self._start
        try:
            if COMPILED:
                if _is_ours(manner, start[0]):
                    span = start_span(
                        start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7], start[8]
                    )
            elif type(start[0]) is manner.tracer_class and manner.tracer_class.start_span is manner.ours:
                span = start_span(*start)
        except Exception as error:
            faults.absorb("Tracer.start_as_current_span", error)
            # Not by way of the tracer's method, which is ours and would fail once more.
            span = manner.ours.__wrapped__(*start)
        if span is None:
            span = manner.instead(*start)
        self._span = span
        if COMPILED or _context_api._RUNTIME_CONTEXT is not _runtime:
            self._token = attach(span)
        else:
            # What `attach` does, without the call.
            current = _variable.get()
            if current and (len(current) > 1 or _SPAN_KEY not in current):
                self._token = _variable.set(Context({**current, _SPAN_KEY: span}))
            else:
                context = Context()
                _set_default(context, _SPAN_KEY, span)
                self._token = _variable.set(context)
        self._state = 1
        return span

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Restore the context, record what was raised, end the span. Never swallows an exception."""
        if kind is not None or self._state != 1:
            # Not to be used again: its finalizer, which runs but once, may have called this.
            return self._leave(kind, error)
        self._state = 2
        if COMPILED or type(self._token) is tuple:
            detach(self._token)
        else:
            # What `detach` does, without the call.
            try:
                _variable.reset(self._token)
            except Exception:
                _context_api.logger.exception("Failed to detach context")
        self._token = None
        if self._end_on_exit:
            span = self._span
            if COMPILED and isinstance(span, SpanState) and c_is_bare(span):
                SpanState.end(span)
            elif not isinstance(span, Dropped):
                span.end()
        if COMPILED:
            _let_go(self)
        return False


class TracerManner(Manner):
    """What the scopes of `Tracer` have in common.

    Args:
        instead: As in `Manner`.
        frames: Likewise.
        tracer_class: Upstream's `Tracer`.
        ours: The function in the place of its `start_span`, or None where there is none of ours.
    """

    __slots__ = ("ours", "tracer_class", "version")

    def __init__(self, instead: Any, frames: Any, tracer_class: Any, ours: Any) -> None:
        self.instead = instead
        self.frames = frames
        self.below_proxy = None
        self.tracer_class = tracer_class
        self.ours = ours
        # Of the class, when `ours` was last seen there.
        self.version = 0

    def with_frames(self, frames: Any) -> Any:
        """The same with other frames."""
        return TracerManner(self.instead, frames, self.tracer_class, self.ours)


def _unused_scope() -> Any:
    """The last scope that was left, if nobody else holds it; else a new one."""
    global _last_left
    scope = _last_left
    if scope is not None:
        _last_left = None
        if c_holders(scope) == 1:
            return scope
    return TracerScope.__new__(TracerScope)


def _let_go(left: Any) -> None:
    """Keep a scope that was left for the next span, with nothing that it holds."""
    global _last_left
    scope = left
    scope._span = None
    scope._start = None
    _last_left = scope


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
    switch = Switch()
    manner = TracerManner(instead, frames, tracer_class, ours)

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
        if COMPILED and is_inert(switch):
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
        start = (
            self,
            name,
            context,
            kind,
            attributes,
            links,
            start_time,
            record_exception,
            set_status_on_exception,
        )
        if COMPILED:
            return filled(_unused_scope(), manner, start, end_on_exit)
        scope = TracerScope()
        scope._manner = manner
        scope._start = start
        scope._end_on_exit = end_on_exit
        scope._state = 0
        return scope

    return patching(original, start_as_current_span, switch)
