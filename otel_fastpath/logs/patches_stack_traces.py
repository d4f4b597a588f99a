"""The stack trace of a log record's exception: replaces the name `traceback` in the modules that format it.

Stock: 2,200,000 instructions for a stack of 5 frames, 12,800,000 for one of 30 (CPython 3.13, SDK 1.45.1), on the
thread that logs. Here the text of each frame is cached. The stack trace cannot be formatted later: stock's container
for a record's attributes accepts text only, and is filled before the first processor gets the record.
"""

from __future__ import annotations

import functools
import traceback
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import Patch, SkipError
from otel_fastpath.trace import stack_traces
from otel_fastpath.trace.stock_sources import SDK, sources, stand_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_fastpath.settings import Config

_SDK: Final = "opentelemetry.sdk._logs._internal"
_RECORD: Final = f"{_SDK}._exceptions:_get_exception_attributes"
_HANDLER: Final = f"{_SDK}:LoggingHandler._get_attributes"
_INSTRUMENTATION: Final = "opentelemetry.instrumentation.logging.handler"
_STRUCTLOG: Final = "opentelemetry.instrumentation.structlog"
_WHY: Final = "Formatting the stack trace of one exception takes 2 to 13 million instructions; here 1 to 3 % of that."

# The budget's scenario for handlers of the standard library's `logging`.
_LOGGING: Final = "logging, exception of 5 frames"


def _make(original: Any, _settings: Config) -> Any:
    if original is not traceback:
        raise SkipError(f"it is not the module traceback: {original!r}")
    return stand_in(original, format_exception=_format_exception)


@functools.wraps(traceback.format_exception)
def _format_exception(exc: Any, /, value: Any, tb: Any, **more: Any) -> list[str]:
    try:
        if isinstance(value, BaseException) and value.__traceback__ is tb and not more and stack_traces.is_standard():
            return [stack_traces.text(value)]
    except Exception as error:
        faults.absorb_any("logs", error)
    # Looked up at each call: it may have been replaced.
    original = traceback.format_exception
    return original(exc, value, tb, **more)


def _patch(
    name: str, module: str, requires: tuple[str, ...], known: Mapping[str, frozenset[str]], budget: str = _LOGGING
) -> Patch:
    return Patch(
        name=f"logs.{name}",
        target=f"{module}:traceback",
        why=_WHY,
        make=_make,
        requires=requires,
        sources=known,
        budgets=(budget,),
    )


PATCHES: Final = (
    _patch(
        "exception",
        f"{_SDK}._exceptions",
        (SDK[0], "opentelemetry-sdk>=1.42,<2"),
        sources(_RECORD),
        "log record, exception of 5 frames",
    ),
    _patch("handler", _SDK, SDK, sources(_HANDLER)),
    _patch(
        "instrumentation_handler",
        _INSTRUMENTATION,
        ("opentelemetry-instrumentation-logging>=0.61b0,<1",),
        sources(f"{_INSTRUMENTATION}:LoggingHandler._get_attributes"),
    ),
    _patch(
        "structlog_exception",
        _STRUCTLOG,
        ("opentelemetry-instrumentation-structlog>=0.65b0,<1",),
        sources(f"{_STRUCTLOG}:StructlogProcessor._get_attributes"),
        "structlog, exception of 5 frames",
    ),
)
