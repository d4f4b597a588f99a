"""Log records on their way to the batch queue: the handlers of `logging`, `Logger.emit`, and the batch processor.

Stock: 105,000 instructions for a message through the handler, 163,000 with seven attributes (CPython 3.13, SDK 1.45.2),
in four objects and a container. Here the record is one object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.logs.set_up import forget_plans, set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

# Patched where they are public: while `_internal` is imported, what is prepared for the patches cannot be imported yet.
_PUBLIC: Final = "opentelemetry.sdk._logs"
_SDK: Final = "opentelemetry.sdk._logs._internal"
_EXPORT: Final = f"{_SDK}.export"
_INSTRUMENTATION: Final = "opentelemetry.instrumentation.logging.handler"
_API: Final = "opentelemetry._logs._internal:LogRecord.__init__"
_RECORD_RESTS_ON: Final = (
    f"{_SDK}:Logger.emit",
    f"{_SDK}:Logger._is_enabled",
    f"{_SDK}:ReadWriteLogRecord",
    f"{_SDK}:ReadableLogRecord",
    f"{_SDK}:SynchronousMultiLogRecordProcessor.on_emit",
    f"{_SDK}._exceptions:_create_log_record_with_exception",
    f"{_SDK}._exceptions:_get_attributes_with_exception",
    f"{_SDK}._exceptions:_get_exception_attributes",
    f"{_EXPORT}:BatchLogRecordProcessor.on_emit",
    "opentelemetry.attributes:BoundedAttributes.__init__",
    "opentelemetry.attributes:BoundedAttributes._set_items",
    "opentelemetry.attributes:_clean_attribute_value",
    _API,
)
# Where it is not known, it is called.
_PARTS: Final = sources("opentelemetry.sdk._shared_internal:BatchProcessor.emit")
_VERSIONS: Final = ("opentelemetry-api>=1.45,<2", "opentelemetry-sdk>=1.45,<2")


def _bind(part: str, name: str) -> Callable[[Any, Config], Any]:
    def make(original: Any, _settings: Config) -> Any:
        return getattr(getattr(set_up(), part), name)(original)

    return make


def _of_handler(name: str, module: str, defined_in: str, requires: tuple[str, ...]) -> tuple[Patch, Patch]:
    """The patches of a handler class."""
    methods = ("emit", "_translate", "_get_attributes")
    known = sources(*(f"{defined_in}:LoggingHandler.{method}" for method in methods), *_RECORD_RESTS_ON)
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
        make=_bind("emitting", "bind_on_emit"),
        requires=_VERSIONS,
        sources=sources(*_RECORD_RESTS_ON),
        parts=_PARTS,
        undo=forget_plans,
        budgets=("log record, behind a processor",),
    ),
    Patch(
        name="logs.emit",
        target=f"{_PUBLIC}:Logger.emit",
        why="A record with seven attributes takes 121,000 instructions, in four objects; here one object.",
        make=_bind("emitting", "bind_emit"),
        requires=_VERSIONS,
        sources=sources(*_RECORD_RESTS_ON),
        parts=_PARTS,
        undo=forget_plans,
        budgets=("log record, 7 attributes",),
    ),
    *_of_handler("handler", _PUBLIC, _SDK, _VERSIONS),
    *_of_handler(
        "instrumentation",
        _INSTRUMENTATION,
        _INSTRUMENTATION,
        (*_VERSIONS, "opentelemetry-instrumentation-logging>=0.66b0,<1"),
    ),
)
