"""The number of exceptions raised while a server span was open, as an attribute of that span.

A span processor creates an `Operation` for each server span and stores it in a context variable, where the callback
finds it. Tasks inherit the variable; two patches pass it on to threads: of `Thread.start` and of the thread pool's
`submit`.
"""

from __future__ import annotations

import functools
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.trace import SpanKind

from otel_fastpath.patching import faults, interpreter
from otel_fastpath.patching.patch import Patch, Patcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.exceptions.defaults import Settings
    from otel_fastpath.patching.patch import Row

_logger = logging.getLogger(__name__)

ATTRIBUTE: Final = "cpython.exceptions"
_SERVER: Final = SpanKind.SERVER
_CONSUMER: Final = SpanKind.CONSUMER
_OF_SPAN: Final = "_otel_fastpath_operation"
_PLACE: Final = "counting the exceptions of a span"

current: ContextVar[Any] = ContextVar("otel_fastpath_operation", default=None)


class ExceptionCountProcessor:
    """Records on each server and consumer span the number of exceptions raised while it was open.

    It is added to the global tracer provider, or to the one passed as `instrument(tracer_provider=...)`. Add it to
    other providers with `provider.add_span_processor(ExceptionCountProcessor())`.
    """

    # Read by a tracer's plan: this processor handles server and consumer spans only, and does nothing after their end.
    for_server_spans = True

    def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002  # the interface of processors
        """Start an operation for a server or consumer span."""
        kind = span.kind
        if (kind is not _SERVER and kind is not _CONSUMER) or _new_operation is None:
            return
        try:
            outer = current.get()
            while outer is not None and outer.closed:
                # This operation began in this context, but ended in another one.
                outer = outer.outer
            operation = _new_operation(outer)
            setattr(span, _OF_SPAN, operation)
            # Set now, so that at the end the value only has to be replaced.
            span.set_attribute(ATTRIBUTE, 0)
            current.set(operation)
        except Exception as error:
            faults.absorb(_PLACE, error)

    def _on_ending(self, span: Any) -> None:
        try:
            operation = span.__dict__.pop(_OF_SPAN, None)
            if operation is None:
                return
            operation.closed = True
            if current.get() is operation:
                current.set(operation.outer)
            if operation.count:
                _overwrite(span, operation.count)
        except Exception as error:
            faults.absorb(_PLACE, error)

    def on_end(self, span: Any) -> None:
        """Do nothing: the attribute is set before the span is passed to `on_end`."""

    def shutdown(self) -> None:
        """Do nothing: the processor keeps no spans."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002  # the interface of processors
        """Do nothing: the processor keeps no spans."""
        return True


_new_operation: Callable[[Any], Any] | None = None
_processor: Final = ExceptionCountProcessor()


def install(settings: Settings, operation_class: Callable[[Any], Any], tracer_provider: Any = None) -> None:
    """Start an operation for each server and consumer span from now on."""
    global _new_operation
    _new_operation = operation_class
    _attach(tracer_provider or trace.get_tracer_provider())
    _patcher.install(settings=settings)


def uninstall() -> None:
    """Start no more operations; the processor stays in its provider and does nothing."""
    global _new_operation
    _new_operation = None
    _patcher.uninstall()


def status() -> list[Row]:
    """The state of the patches."""
    return _patcher.status()


def _overwrite(span: Any, count: int) -> None:
    # For all other code the span has ended: stock calls `_on_ending` after the attributes are made immutable.
    try:
        if getattr(span, "bounded_attributes", span) is None and ATTRIBUTE in span.attribute_store:
            # The fast span's own store.
            span.attribute_store[ATTRIBUTE] = count
            return
        attributes = span._attributes
        closed = attributes._immutable
        attributes._immutable = False
        try:
            attributes[ATTRIBUTE] = count
        finally:
            attributes._immutable = closed
    except Exception as error:
        faults.raise_interruption(error)
        _logger.exception("The number of exceptions could not be written to a span.")


def _attach(provider: Any) -> None:
    add = getattr(provider, "add_span_processor", None)
    if add is None or getattr(provider, _OF_SPAN, None) is _processor:
        return
    if type(getattr(provider, "_active_span_processor", None)).__name__ == "ConcurrentMultiSpanProcessor":
        _logger.warning("Spans get no %s: the tracer provider starts spans on other threads.", ATTRIBUTE)
        return
    setattr(provider, _OF_SPAN, _processor)
    add(_processor)


def _make_set_tracer_provider(original: Any, _settings: Settings) -> Any:
    @functools.wraps(original)
    def _set_tracer_provider(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        try:
            _attach(trace.get_tracer_provider())
        except Exception as error:
            faults.absorb(_PLACE, error)

    return _set_tracer_provider


def _run_within(thread: Any, run: Any, operation: Any) -> None:
    # Remove the instance attribute, which hides the method and forms a reference cycle with the thread.
    if run is None:
        del thread.run
        run = thread.run
    try:
        current.set(operation)
    except Exception as error:
        faults.absorb_any(_PLACE, error)
    run()


def _make_start(original: Any, _settings: Settings) -> Any:
    from concurrent.futures import thread as pool  # noqa: PLC0415  # only where threads are being patched

    worker = pool._worker

    @functools.wraps(original)
    def start(self: Any) -> None:
        try:
            operation = current.get()
            # A pool's thread outlives the operation in which it was started; `submit` passes one on with each call.
            if operation is not None and getattr(self, "_target", None) is not worker:
                self.run = functools.partial(_run_within, self, vars(self).get("run"), operation)
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        original(self)

    return start


def _call_within(operation: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    token = None
    try:
        token = current.set(operation)
    except Exception as error:
        faults.absorb_any(_PLACE, error)
    try:
        return function(*args, **kwargs)
    finally:
        try:
            if token is not None:
                current.reset(token)
        except Exception as error:
            faults.absorb_any(_PLACE, error)


def _make_submit(original: Any, _settings: Settings) -> Any:
    @functools.wraps(original)
    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        operation = None
        try:
            operation = current.get()
        except Exception as error:
            faults.absorb_any(_PLACE, error)
        if operation is None:
            return original(self, fn, *args, **kwargs)
        return original(self, _call_within, operation, fn, *args, **kwargs)

    return submit


PATCHES: Final = (
    Patch(
        name="exceptions.tracer_provider",
        target="opentelemetry.trace:_set_tracer_provider",
        why="Adds the processor that counts exceptions to a tracer provider that is set later.",
        make=_make_set_tracer_provider,
        budgets=("the tracer provider is set",),
    ),
    Patch(
        name="exceptions.threads",
        target="threading:Thread.start",
        why="Exceptions in a thread count for the operation that started it.",
        make=_make_start,
        budgets=("a thread is started",),
    ),
    Patch(
        name="exceptions.thread_pool",
        target="concurrent.futures.thread:ThreadPoolExecutor.submit",
        why="Exceptions in a thread pool count for the operation that submitted the call.",
        make=_make_submit,
        budgets=("a call in a thread pool",),
    ),
)
_patcher: Final = Patcher(PATCHES, interpreter.installed)
