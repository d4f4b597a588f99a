"""The processor of `opentelemetry-instrumentation-structlog`, which emits structlog's events as log records.

Stock: 127,000 instructions for an event with three keys (CPython 3.13, SDK 1.45.2).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.logs.set_up import set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK, sources, sources_if_any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.structlog"
_TARGET: Final = f"{_MODULE}:StructlogProcessor.__call__"
_METHODS: Final = ("_translate", "_get_attributes")


def _make(original: Callable[..., Any], _settings: Config) -> Any:
    set_up()
    events = hot.logs_records_structlog_events
    logger = importlib.import_module("opentelemetry.sdk._logs").Logger
    return events.bind_call(original, events.StructlogPlan(importlib.import_module(_MODULE), logger))


def _forget_loggers() -> None:
    hot.logs_records_structlog_events.LOGGERS.forget()


PATCHES: Final = (
    Patch(
        name="logs.structlog",
        target=_TARGET,
        why="A record is made that the SDK copies, by a logger that is asked for each time; here neither is.",
        make=_make,
        requires=(*SDK, "opentelemetry-instrumentation-structlog>=0.65b0,<1"),
        undo=_forget_loggers,
        sources=sources(_TARGET, *(f"{_MODULE}:StructlogProcessor.{method}" for method in _METHODS))
        | sources_if_any(f"{_MODULE}:_parse_structlog_timestamp"),
        budgets=("structlog, 3 keys",),
    ),
)
