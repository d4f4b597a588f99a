"""Works out, for each handler and each logger, whether the short way is open. Stock's objects are told by type.

What the short way skips is a fact that must hold (see `compiled.facts`): if other code replaces a method that is not
called there, stock's way is taken for the records after that.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import sys
import traceback
from sys import maxsize
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import _logs as api
from opentelemetry import attributes as attributes_api
from opentelemetry._logs import _internal as api_internal
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import _logs as sdk
from opentelemetry.sdk._logs import _internal as sdk_internal
from opentelemetry.sdk._logs._internal.export import BatchLogRecordProcessor
from opentelemetry.sdk._shared_internal import BatchProcessor

from otel_fastpath.compiled.facts import ABSENT, WatchedFact, is_true
from otel_fastpath.logs.records.record_class import attribute_limits
from otel_fastpath.patching import stock
from otel_fastpath.patching.sights import Sights
from otel_fastpath.patching.swapping.swap import seen_through
from otel_fastpath.trace.propagation.stock_propagators import READ_OF_CONTEXTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    # An item of `Facts`.
    _Fact = tuple[object, str, object]

_PLAN: Final = "_otel_fastpath_plan"
# Where the processor of a provider keeps what the plans of its loggers share.
_SHARED: Final = "_otel_fastpath_shared"
_LEVELS: Final = range(61)
# What not each release has: the function that describes exceptions since 1.42, and metrics that do nothing since then.
_exceptions: Any = getattr(sdk_internal, "_exceptions", None)
_NO_METRICS: Final = getattr(getattr(sdk_internal, "_logger_metrics", None), "NoOpLoggerMetrics", type(None))
_DESCRIBING: Final = ("_get_attributes_with_exception", "_get_exception_attributes")
# What stock calls on the way of a record to the batch queue, and is not called here.
_QUEUEING: Final = (
    (sdk_internal.SynchronousMultiLogRecordProcessor, "on_emit"),
    (BatchProcessor, "emit"),
)
# What it calls to emit a record and to store its attributes; not each release has all.
_EMITTING: Final = (
    *((sdk.Logger, name) for name in ("emit", "_is_enabled")),
    *((sdk.ReadWriteLogRecord, name) for name in ("__init__", "__post_init__", "dropped_attributes")),
    (api.LogRecord, "__init__"),
    *((BoundedAttributes, name) for name in ("__init__", "__setitem__", "_set_items", "_setitem_locked")),
    (attributes_api, "_clean_attribute_value"),
    *((attributes_api, f"_clean_extended_attribute{end}") for end in ("", "_value")),
)


class LogCore(NamedTuple):
    """What plans need of one core.

    Attributes:
        facts: The class `facts.Facts`.
        store: The class `plans.PlanStore`.
        emitting: The module `logs.records.emitting`.
        handling: The module `logs.handling`.
        batch_of: The function `ending.batch_of`.
        record_class: The class of records.
    """

    facts: Any
    store: Any
    emitting: Any
    handling: Any
    batch_of: Any
    record_class: type


class _NotOurs(Exception):  # noqa: N818  # not an error: the short way is not open
    pass


def _own(kind: Any, name: str) -> _Fact:
    """That a class or module has stock's own function of this name, or our replacement.

    Raises:
        _NotOurs: Other code has replaced it.
    """
    if not stock.is_unreplaced(kind, name):
        raise _NotOurs
    return kind, name, getattr(kind, name)


def _inherited(kind: Any, base: Any, names: Sequence[str]) -> list[_Fact]:
    """That a class has these methods from this base class, and that they are stock's own.

    Raises:
        _NotOurs: It has others.
    """
    if not stock.inherits(kind, base, names):
        raise _NotOurs
    return [_own(kind, name) for name in names]


def _absent(instance: Any, *names: str) -> list[_Fact]:
    return [(instance, name, ABSENT) for name in names]


def _stacks(module: Any) -> list[_Fact]:
    """That a module formats stack traces with the standard library's module, or our stand-in for it."""
    used = vars(module)["traceback"]
    if used is not traceback and "format_exception" not in vars(used):
        raise _NotOurs
    return [(module, "traceback", used)]


class LoggerPlanner:
    """Makes the plans of one core.

    Args:
        core: The core.
    """

    def __init__(self, core: LogCore) -> None:
        self._core = core
        self._loggers, self._handlers, self._shared = map(core.store, (_PLAN, _PLAN, _SHARED))
        self._sights = Sights()
        self._emitting: Any = None

    def plan_logger(self, logger: Any) -> Any:
        """The `LogPlan` of a logger, which keeps it from its second record on: many have no more than one."""
        plan = self._core.emitting.LogPlan()
        is_known = self._sights.note(id(logger))
        plan.closed, plan.forwards, plan.fields = 0, False, {}
        try:
            plan.fields = vars(logger) if is_known else _fields(logger)
            self._open(plan, logger)
        except _NotOurs:
            plan.close()
        return self._loggers.keep(plan, logger) if is_known else plan

    def forget(self) -> None:
        """Remove the plans from all loggers, handlers and processors."""
        for store in (self._loggers, self._handlers, self._shared):
            store.forget()

    def _open(self, plan: Any, logger: Any) -> None:
        if type(logger) is not sdk.Logger:
            raise _NotOurs
        root = logger._multi_log_record_processor
        shared = self._shared.kept(root)
        if shared is None or not shared.values[0].is_held():
            shared = self._shared.keep_values(root, *self._of_provider(root))
        plan.facts, plan.batch, plan.forwards = shared.values
        plan.size = -1
        plan.limits = _limits(logger)
        plan.max_count, plan.max_length = attribute_limits(plan.limits)
        plan.most, plan.longest = map(_or_most, (plan.max_count, plan.max_length))
        metrics = getattr(logger, "_logger_metrics", None)
        plan.metrics = None if type(metrics) is _NO_METRICS else metrics
        plan.is_quiet = plan.metrics is None and (plan.batch is None or plan.batch.has_known_emit)
        plan.record_class = self._core.record_class
        plan.scope = logger._instrumentation_scope

    def _of_provider(self, root: Any) -> tuple[Any, Any, bool]:
        """What the plans of all loggers of one provider rest on.

        Returns:
            The facts, its batch processor's `Batch` or None, and whether its processors are others, which are called.
        """
        facts = [*self._of_each_provider()]
        if type(root) is not sdk_internal.SynchronousMultiLogRecordProcessor:
            return self._core.facts(facts), None, True
        processors: Any = root._log_record_processors
        facts.append((root, "_log_record_processors", processors))
        try:
            batch, queueing = self._of_queue(root, processors)
        except _NotOurs:
            return self._core.facts(facts), None, True
        return self._core.facts([*facts, *queueing]), batch, False

    def _of_each_provider(self) -> tuple[_Fact, ...]:
        """What all plans rest on, looked up again when it has changed.

        Raises:
            _NotOurs: Other code has replaced a part of it.
        """
        if self._emitting is None or not is_true(self._emitting):
            self._emitting = self._core.facts(
                [
                    *(_own(owner, name) for owner, name in _EMITTING if hasattr(owner, name)),
                    (api_internal, "get_current", vars(api_internal)["get_current"]),
                    *(() if _exceptions is None else _stacks(_exceptions)),
                    *map(WatchedFact, (_own(_exceptions, name) for name in _DESCRIBING if hasattr(_exceptions, name))),
                    *READ_OF_CONTEXTS,
                ]
            )
        return self._emitting.items  # type: ignore[no-any-return]  # of either core

    def _of_queue(self, root: Any, processors: Any) -> tuple[Any, list[_Fact]]:
        """The `Batch` of the only processor, or None if there is none, and what queueing in it rests on.

        Raises:
            _NotOurs: There are others.
        """
        if len(processors) > 1:
            raise _NotOurs
        batch = None
        facts = [*(_own(owner, name) for owner, name in _QUEUEING), *_absent(root, "on_emit")]
        for processor in processors:
            batch = self._core.batch_of(processor) if isinstance(processor, BatchLogRecordProcessor) else None
            if batch is None:
                raise _NotOurs
            facts += [
                *_inherited(type(processor), BatchLogRecordProcessor, ("on_emit",)),
                *_absent(processor, "on_emit"),
                *_absent(batch.processor, "emit"),
            ]
        return batch, facts

    def plan_handler(self, handler: Any) -> Any:
        """The `HandlerPlan` of a handler."""
        plan = self._core.handling.HandlerPlan()
        plan.closed = 0
        try:
            self._open_handler(plan, handler)
        except _NotOurs:
            plan.close()
        return self._handlers.keep(plan, handler)

    def _open_handler(self, plan: Any, handler: Any) -> None:
        kind = type(handler)
        base = next((each for each in kind.__mro__ if each.__name__ == "LoggingHandler" and _is_stock(each)), None)
        if base is None or vars(object)["__getattribute__"] is not inspect.getattr_static(kind, "__getattribute__"):
            raise _NotOurs
        module = sys.modules[base.__module__]
        provider = handler._logger_provider
        facts: list[_Fact] = []
        real: Any = provider
        if type(provider) is api_internal.ProxyLoggerProvider:
            real = api_internal._LOGGER_PROVIDER
            facts.append((api_internal, "_LOGGER_PROVIDER", real))
        if type(real) is not sdk.LoggerProvider or real._disabled:
            raise _NotOurs
        plan.facts = self._core.facts(
            [
                *facts,
                *_inherited(kind, base, ("_translate", "_get_attributes")),
                *_absent(handler, "emit", "filter", "acquire", "release", "_translate", "_get_attributes"),
                _own(logging.LogRecord, "getMessage"),
                _own(sdk.LoggerProvider, "get_logger"),
                *_absent(real, "get_logger"),
                *((module, name, getattr(module, name)) for name in ("get_logger", "LogRecord", "std_to_otel")),
                *_stacks(module),
            ]
        )
        plan.handling = self._core.facts(_handling(kind, base))
        names = vars(module)
        plan.get_logger = _getter(names["get_logger"], provider)
        guard = getattr(kind, "_is_emitting", None)
        plan.guard = guard
        plan.has_code = bool(getattr(handler, "_log_code_attributes", guard is None))
        translate = vars(base)["_translate"].__code__
        plan.has_event_names = "event_name" in translate.co_varnames
        plan.has_text_bodies = "isinstance" not in translate.co_names
        plan.plans, plan.sights = {}, Sights()
        plan.names = names
        plan.provider = provider
        plan.severity = names["std_to_otel"]
        plan.severities = {level: plan.severity(level) for level in _LEVELS}
        plan.texts = {"WARNING": "WARN"}
        if "FATAL" in translate.co_consts:
            plan.texts["CRITICAL"] = "FATAL"


def _handling(kind: Any, base: Any) -> list[_Fact]:
    """That what `Handler.handle` does and calls is as in `logging`, with our `emit`; else what is never true."""
    emit: Any = vars(base)["emit"]
    # Another function may have been below ours when that was put in place.
    is_inherited = seen_through(inspect.getattr_static(base, "handle")) is vars(logging.Handler)["handle"]
    if is_inherited and seen_through(emit) is not emit and kind.emit is emit:
        with contextlib.suppress(_NotOurs):
            inherited = _inherited(kind, logging.Handler, ("filter", "acquire", "release"))
            return [(kind, "emit", emit), _own(logging.Handler, "handle"), *inherited]
    return [(kind, "emit", object())]


def _is_stock(kind: type) -> bool:
    return kind.__module__ in {sdk_internal.__name__, "opentelemetry.instrumentation.logging.handler"}


def _limits(logger: Any) -> Any:
    """The limits of a logger's records. Until 1.44, stock reads them from the environment for each record.

    Raises:
        _NotOurs: What is in the environment is invalid.
    """
    with contextlib.suppress(ValueError):
        return getattr(logger, "_log_record_limits", None) or sdk.LogRecordLimits()
    raise _NotOurs


def _fields(logger: Any) -> dict[str, Any]:
    """What one record needs of its logger's fields.

    Raises:
        _NotOurs: A method was set on the logger.
    """
    for name in ("emit", "_is_enabled"):
        function = getattr(sdk.Logger, name, None)
        if function is not None and getattr(getattr(logger, name), "__func__", None) is not function:
            raise _NotOurs
    names = [name for name in ("_logger_config", "_resource") if hasattr(logger, name)]
    return {name: getattr(logger, name) for name in names}


def _or_most(limit: int | None) -> int:
    return maxsize if limit is None else limit


def _getter(get_logger: Any, provider: Any) -> Any:
    return lambda name: get_logger(name, logger_provider=provider)
