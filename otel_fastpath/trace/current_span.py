"""Making spans current through the API: `use_span`, the no-op and the proxy tracer. Compiled as `current_span_c`."""

from __future__ import annotations

from typing import Any

from opentelemetry import trace as _trace_api
from opentelemetry.trace import SpanKind
from opentelemetry.trace.span import INVALID_SPAN, NonRecordingSpan

from otel_fastpath.patching import faults
from otel_fastpath.trace.current_context import attach, detach, span_in
from otel_fastpath.trace.scope import Manner, Scope, Switch, add_frames, decorate, filled, is_inert, patching

_trace_globals = vars(_trace_api)
_INTERNAL = SpanKind.INTERNAL
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


def bind_use_span(original: Any, frames: Any) -> Any:
    """What stands in the place of `opentelemetry.trace.use_span`."""
    switch = Switch()
    manner = Manner(None, frames)

    def use_span(
        span: Any,
        end_on_exit: Any = False,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
    ) -> Any:
        try:
            if not is_inert(switch):
                start = (span, record_exception, set_status_on_exception)
                return filled(Scope.__new__(Scope), manner, start, end_on_exit)
        except Exception as error:
            faults.absorb("use_span", error)
        return original(span, end_on_exit, record_exception, set_status_on_exception)

    return patching(original, use_span, switch)


def bind_no_op(original: Any, tracer_class: Any, instead: Any) -> Any:
    """What stands in the place of `NoOpTracer.start_as_current_span`; `instead` starts the spans of its subclasses."""
    switch = Switch()
    # A span that records nothing records no stack trace either: no frames.
    own = Manner(tracer_class.start_span, ())
    others = Manner(instead, ())

    def start_as_current_span(
        self: Any,
        name: Any,
        context: Any = None,
        kind: Any = _INTERNAL,
        attributes: Any = None,
        links: Any = None,
        start_time: Any = None,
        record_exception: Any = True,
        set_status_on_exception: Any = True,
        end_on_exit: Any = True,
    ) -> Any:
        start = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        try:
            if not is_inert(switch):
                manner = own if type(self) is tracer_class else others
                return filled(Scope.__new__(Scope), manner, start, end_on_exit)
        except Exception as error:
            faults.absorb("NoOpTracer.start_as_current_span", error)
        return original(*start, end_on_exit)

    return patching(original, start_as_current_span, switch)


class ProxyScope:
    """The scope of a `ProxyTracer`: the real tracer's, which is looked up on entering."""

    __slots__ = ("_args", "_frames", "_inner", "_kwargs", "_token", "_tracer")

    def _recreate_cm(self) -> Any:
        return _proxying(ProxyScope.__new__(ProxyScope), self._tracer, self._args, self._kwargs, self._frames)

    def __call__(self, func: Any) -> Any:
        """Decorate a function: each call gets a scope of its own, a coroutine function's until it is done."""
        return decorate(self, func)

    def __enter__(self) -> Any:
        """Enter the real tracer's scope."""
        if self._inner is not None or self._token is not None:
            raise AttributeError("the scope was entered already; it is used once")
        try:
            span = self._enter_no_op()
            if span is not None:
                return span
        except Exception as error:
            faults.absorb("ProxyTracer.start_as_current_span", error)
        inner = self._inner = self._tracer._tracer.start_as_current_span(*self._args, **self._kwargs)
        try:
            if isinstance(inner, Scope):
                add_frames(inner, self._frames)
        except Exception as error:
            faults.absorb("ProxyTracer.start_as_current_span", error)
        return inner.__enter__()

    def _enter_no_op(self) -> Any:
        """What `NoOpTracer` does with no recording span around and no provider set, or None."""
        provider = _trace_globals["_TRACER_PROVIDER"]
        if (
            provider is not None
            or len(self._args) != 1
            or (self._kwargs and not self._kwargs.keys() <= _WITHOUT_EFFECT)
        ):
            return None
        if self._tracer._real_tracer is not None:
            return None
        span = span_in(None)
        if span is None:
            span = INVALID_SPAN
        elif type(span) is not NonRecordingSpan:
            return None
        self._token = attach(span)
        return span

    def __exit__(self, kind: object, error: object, traceback: object) -> Any:
        """Leave it."""
        token = self._token
        if token is not None:
            self._token = None
            self._inner = self
            detach(token)
            return False
        if self._inner is self:
            return False
        if self._inner is None:
            raise RuntimeError("generator didn't stop")
        return self._inner.__exit__(kind, error, traceback)

    def __del__(self) -> None:
        # As for `Scope`: entered and dropped.
        if self._token is not None:
            detach(self._token)


def _proxying(scope: Any, tracer: Any, args: Any, kwargs: Any, frames: Any) -> Any:
    """The scope, as one of this proxy that was not entered."""
    scope._tracer = tracer
    scope._args = args
    scope._kwargs = kwargs
    scope._frames = frames
    scope._inner = None
    scope._token = None
    return scope


def bind_proxy(original: Any, frames: Any) -> Any:
    """What stands in the place of `ProxyTracer.start_as_current_span`."""
    switch = Switch()

    def start_as_current_span(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if not is_inert(switch):
                return _proxying(ProxyScope.__new__(ProxyScope), self, args, kwargs, frames)
        except Exception as error:
            faults.absorb("ProxyTracer.start_as_current_span", error)
        return original(self, *args, **kwargs)

    return patching(original, start_as_current_span, switch)
