"""Log records on their way to the batch queue: the handlers of `logging`, `Logger.emit`, and the batch processor.

Stock: 105,000 instructions for a message through the handler, 163,000 with seven attributes (CPython 3.13, SDK 1.45.2),
in four objects and a container. Here the record is one object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.logs.set_up import forget_plans, set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK, sources, sources_if_any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

# Patched where they are public: while `_internal` is imported, what is prepared for the patches cannot be imported yet.
_PUBLIC: Final = "opentelemetry.sdk._logs"
_SDK: Final = "opentelemetry.sdk._logs._internal"
_EXPORT: Final = f"{_SDK}.export"
_INSTRUMENTATION: Final = "opentelemetry.instrumentation.logging.handler"
_API: Final = "opentelemetry._logs._internal:LogRecord.__init__"
_ATTRIBUTES: Final = "opentelemetry.attributes"
_RECORD_RESTS_ON: Final = sources(
    f"{_SDK}:Logger.emit",
    f"{_SDK}:ReadWriteLogRecord",
    f"{_SDK}:ReadableLogRecord",
    f"{_SDK}:SynchronousMultiLogRecordProcessor.on_emit",
    f"{_EXPORT}:BatchLogRecordProcessor.on_emit",
    f"{_ATTRIBUTES}:BoundedAttributes.__init__",
    f"{_ATTRIBUTES}:BoundedAttributes.__setitem__",
    _API,
) | sources_if_any(
    f"{_SDK}:Logger._is_enabled",
    f"{_SDK}._exceptions:_copy_log_record",
    f"{_SDK}._exceptions:_copy_log_record_with_exception",
    f"{_SDK}._exceptions:_create_log_record_with_exception",
    f"{_SDK}._exceptions:_get_attributes_with_exception",
    f"{_SDK}._exceptions:_get_exception_attributes",
    f"{_ATTRIBUTES}:BoundedAttributes._set_items",
    f"{_ATTRIBUTES}:BoundedAttributes._setitem_locked",
    f"{_ATTRIBUTES}:_clean_attribute_value",
    f"{_ATTRIBUTES}:_clean_extended_attribute",
    f"{_ATTRIBUTES}:_clean_extended_attribute_value",
)
# How `LogRecord` finds the ids of the current span.
_CURRENT: Final = (
    "opentelemetry.context:get_current",
    "opentelemetry.trace.propagation:get_current_span",
    "opentelemetry.trace.span:SpanContext.span_id",
    "opentelemetry.trace.span:SpanContext.trace_flags",
    "opentelemetry.trace.span:SpanContext.trace_id",
)
# Where it is not known, it is called.
_PARTS: Final = sources("opentelemetry.sdk._shared_internal:BatchProcessor.emit")


def _bind(part: str, name: str) -> Callable[[Any, Config], Any]:
    def make(original: Any, _settings: Config) -> Any:
        return getattr(getattr(set_up(), part), name)(original)

    return make


def _of_handler(name: str, module: str, defined_in: str, requires: tuple[str, ...]) -> tuple[Patch, Patch]:
    """The patches of a handler class."""
    methods = ("emit", "_translate", "_get_attributes")
    own = sources(*(f"{defined_in}:LoggingHandler.{method}" for method in methods))
    severity = sources_if_any(f"{_SDK}:std_to_otel") if defined_in == _SDK else {}
    known = own | severity | _RECORD_RESTS_ON
    emit = Patch(
        name=f"logs.{name}_emit",
        target=f"{module}:LoggingHandler.emit",
        why="A message takes 105,000 instructions, in four objects and a container; here one object.",
        make=_bind("handling", "bind_emit"),
        requires=requires,
        sources=known,
        parts=_PARTS,
        undo=forget_plans,
        budgets=(f"logging, {name}, a message",),
    )
    handle = Patch(
        name=f"logs.{name}_handle",
        target=f"{module}:LoggingHandler.handle",
        why="The look at the filters and the lock around `emit` take 4,400 instructions; here they are in one call.",
        make=_bind("handling", "bind_handle"),
        requires=requires,
        sources=known,
        parts=_PARTS,
        undo=forget_plans,
        budgets=(f"logging, {name}, a message",),
    )
    return emit, handle


PATCHES: Final = (
    Patch(
        name="logs.batch_on_emit",
        target=f"{_PUBLIC}.export:BatchLogRecordProcessor.on_emit",
        why="Copying a record for the queue takes 34,000 instructions; here one object is filled.",
        make=_bind("queueing", "bind_on_emit"),
        requires=SDK,
        sources=_RECORD_RESTS_ON,
        parts=_PARTS,
        undo=forget_plans,
        budgets=("log record, behind a processor",),
    ),
    Patch(
        name="logs.emit",
        target=f"{_PUBLIC}:Logger.emit",
        why="A record with seven attributes takes 121,000 instructions, in four objects; here one object.",
        make=_bind("logger_emit", "bind_emit"),
        requires=SDK,
        sources=_RECORD_RESTS_ON,
        parts=_PARTS,
        undo=forget_plans,
        budgets=("log record, 7 attributes", "log record given, 7 attributes", "log record given to a processor"),
    ),
    Patch(
        name="logs.get_logger",
        target=f"{_PUBLIC}:LoggerProvider.get_logger",
        why="Asking again for a logger takes 10,000 instructions, for two locks and a weak set; here one look-up.",
        make=_bind("known_loggers", "bind_get_logger"),
        requires=SDK,
        sources=sources(f"{_SDK}:LoggerProvider.get_logger", f"{_SDK}:LoggerProvider._get_logger_cached"),
        undo=forget_plans,
        budgets=("logger asked for again",),
    ),
    Patch(
        name="logs.record",
        # Of the API, but of use only where there is an SDK.
        target=f"{_PUBLIC}:_internal.LogRecord.__init__",
        why="Making a record takes 10,500 instructions, many to find the current span; here 7,300.",
        make=_bind("stock_records", "bind_init"),
        requires=SDK,
        sources=sources(_API, *_CURRENT),
        undo=forget_plans,
        only_compiled=True,
        budgets=("log record given",),
    ),
    *_of_handler("handler", _PUBLIC, _SDK, SDK),
    *_of_handler(
        "instrumentation",
        _INSTRUMENTATION,
        _INSTRUMENTATION,
        (*SDK, "opentelemetry-instrumentation-logging>=0.61b0,<1"),
    ),
)
