"""Making spans current through the API: `use_span`, the no-op and the proxy tracer. Compiled as `current_span_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import trace as _trace_api
from opentelemetry.trace import NoOpTracer, SpanKind
from opentelemetry.trace.span import INVALID_SPAN, NonRecordingSpan

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import drop_finalizer, has_no_fields
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN, as_defined
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.context.current_context import attach, detach, restore, span_in
from otel_fastpath.trace.context.scope import (
    OpenScope,
    Scope,
    ScopeKind,
    add_frames,
    decorate,
    fill,
    raise_as_generator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from contextvars import Token
    from types import TracebackType
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.trace import Link, ProxyTracer, Span
    from opentelemetry.util import types

    from otel_fastpath.trace.stack_traces import Frame

    _Token = Token[Context] | tuple[Token[Context]]
    _Links = Sequence[Link] | None


_trace_globals = vars(_trace_api)
_INTERNAL = SpanKind.INTERNAL
# Arguments that `NoOpTracer.start_as_current_span` ignores unless an exception is raised.
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


# The replacement for `use_span`, to see whether other code has replaced it since.
_using = Facts([(_trace_api, "use_span", as_defined(_trace_api, "use_span"))])
# Likewise what `NoOpTracer.start_as_current_span` calls, and that method with it.
_no_op = Facts(UNKNOWN)
_below_proxy = Facts(UNKNOWN)


def is_known_use_span(stock: object) -> bool:
    """Whether `opentelemetry.trace.use_span` is the replacement made here, or this function, stock's own."""
    return _using.hold() or _trace_globals["use_span"] is stock


def bind_use_span(original: Callable[..., object], frames: tuple[Frame, ...]) -> Callable[..., object]:
    """Make the replacement for `opentelemetry.trace.use_span`."""
    switch = Switch()
    manner = ScopeKind(None, frames)

    def use_span(
        span: Span,
        end_on_exit: bool = False,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> object:
        try:
            if not switch.inert:
                start = (span, record_exception, set_status_on_exception)
                return fill(OpenScope.__new__(OpenScope), manner, start, end_on_exit)
        except Exception as error:
            faults.absorb("use_span", error)
        return original(span, end_on_exit, record_exception, set_status_on_exception)

    replacement = make_switchable(original, use_span, switch)
    _using.renew([(_trace_api, "use_span", replacement)])
    return replacement


def bind_no_op(original: Callable[..., object], instead: Callable[..., Span]) -> Callable[..., object]:
    """Make the replacement for `NoOpTracer.start_as_current_span`; `instead` starts the spans of its subclasses."""
    switch = Switch()
    # A span that records nothing records no stack trace either: no frames.
    own = ScopeKind(NoOpTracer.start_span, ())
    others = ScopeKind(instead, ())

    def start_as_current_span(
        self: object,
        name: str,
        context: Context | None = None,
        kind: SpanKind = _INTERNAL,
        attributes: types.Attributes = None,
        links: _Links = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> object:
        start = self, name, context, kind, attributes, links, start_time, record_exception, set_status_on_exception
        try:
            if not switch.inert and _no_op.hold():
                manner = own if type(self) is NoOpTracer and has_no_fields(self) else others
                return fill(OpenScope.__new__(OpenScope), manner, start, end_on_exit)
        except Exception as error:
            faults.absorb("NoOpTracer.start_as_current_span", error)
        return original(*start, end_on_exit)

    replacement = make_switchable(original, start_as_current_span, switch)
    called = [
        (NoOpTracer, "start_span", as_defined(NoOpTracer, "start_span")),
        (_trace_api, "use_span", _trace_globals["use_span"]),
    ]
    _no_op.renew(called)
    _below_proxy.renew([*called, (NoOpTracer, "start_as_current_span", replacement)])
    return replacement


class ProxyScope:
    """The scope of a `ProxyTracer`: when entered, it looks up the real tracer and enters its scope."""

    __slots__ = ("_args", "_frames", "_inner", "_kwargs", "_token", "_tracer")
    _args: tuple[Any, ...]
    _frames: tuple[Frame, ...]
    _inner: AbstractContextManager[Span] | None
    _kwargs: dict[str, Any]
    _token: _Token | None
    _tracer: ProxyTracer

    def _recreate_cm(self) -> ProxyScope:
        return _proxying(OpenProxyScope.__new__(OpenProxyScope), self._tracer, self._args, self._kwargs, self._frames)

    def __call__(self, func: Callable[..., object]) -> Callable[..., object]:
        """Decorate a function: each call gets its own scope, which lasts until the function or coroutine is done."""
        if self._inner is None and self._token is None:
            drop_finalizer(self, ProxyScope)
        return decorate(self, func)

    def __enter__(self) -> Span:
        """Enter the real tracer's scope."""
        if self._inner is not None or self._token is not None:
            raise AttributeError("the scope was entered already; it is used once")
        try:
            span = self._enter_no_op()
            if span is not None:
                return span
        except Exception as error:
            faults.absorb("ProxyTracer.start_as_current_span", error)
        # From here on, it is the real tracer's scope that the garbage collector leaves.
        drop_finalizer(self, ProxyScope)
        try:
            inner = self._inner = self._tracer._tracer.start_as_current_span(*self._args, **self._kwargs)
            try:
                if isinstance(inner, Scope):
                    add_frames(inner, self._frames)
            except Exception as error:
                faults.absorb("ProxyTracer.start_as_current_span", error)
            return inner.__enter__()
        except StopIteration as error:
            raise_as_generator(error)
            raise

    def _enter_no_op(self) -> Span | None:
        """Do what `NoOpTracer` does, if no provider is set and no recording span is current; else return None."""
        provider = _trace_globals["_TRACER_PROVIDER"]
        if (
            provider is not None
            or len(self._args) != 1
            or (self._kwargs and not self._kwargs.keys() <= _WITHOUT_EFFECT)
        ):
            return None
        if self._tracer._real_tracer is not None or not _below_proxy.hold():
            return None
        span = span_in(None)
        if span is None:
            span = INVALID_SPAN
        elif type(span) is not NonRecordingSpan:
            return None
        self._token = attach(span)
        return span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        """Leave the scope that was entered."""
        token = self._token
        if token is not None:
            self._inner = self
            try:
                detach(token)
            except BaseException:
                restore(token)
                raise
            finally:
                self._token = None
                drop_finalizer(self, ProxyScope)
            return False
        if self._inner is self:
            return False
        if self._inner is None:
            raise RuntimeError("generator didn't stop")
        try:
            return self._inner.__exit__(kind, error, traceback)
        except StopIteration as fault:
            if fault is not error:
                raise_as_generator(fault)
            raise


class OpenProxyScope(ProxyScope):
    """One that has not been left; as `OpenScope`."""

    __slots__ = ()

    def __del__(self) -> None:
        # As in `OpenScope.__del__`: entered but never left.
        try:
            token = self._token
        except AttributeError:
            # As there.
            return
        if token is not None:
            detach(token)


def _proxying(
    scope: ProxyScope,
    tracer: ProxyTracer,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    frames: tuple[Frame, ...],
) -> ProxyScope:
    """Set the fields of a proxy's scope that has not been entered; return it."""
    scope._tracer = tracer
    scope._args = args
    scope._kwargs = kwargs
    scope._frames = frames
    scope._inner = None
    scope._token = None
    return scope


def bind_proxy(original: Callable[..., object], frames: tuple[Frame, ...]) -> Callable[..., object]:
    """Make the replacement for `ProxyTracer.start_as_current_span`."""
    switch = Switch()

    def start_as_current_span(self: ProxyTracer, *args: object, **kwargs: object) -> object:
        try:
            if not switch.inert:
                return _proxying(OpenProxyScope.__new__(OpenProxyScope), self, args, kwargs, frames)
        except Exception as error:
            faults.absorb("ProxyTracer.start_as_current_span", error)
        return original(self, *args, **kwargs)

    return make_switchable(original, start_as_current_span, switch)
