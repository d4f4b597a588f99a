"""Events of structlog on their way to the batch queue: the processor of its instrumentation. Compiled as `events_c`.

The parts of the record are handed to the SDK's logger, which stock's processor asks its provider for each time. An
event with `exc_info`, a level with another name, and whatever a processor or logger that is not stock's own gets are
left to stock's method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import address, get_item
from otel_fastpath.logs.records.emitting import plan_of, try_emit
from otel_fastpath.patching import faults
from otel_fastpath.patching.plans import PlannedValues, PlanStore
from otel_fastpath.patching.swapping.switches import Switch, make_switchable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PLACE = "an event of structlog"
# Where a processor keeps its loggers by name, and the most of them.
_LOGGERS = "_otel_fastpath_loggers"
_MOST_LOGGERS = 1024
LOGGERS = PlanStore(_LOGGERS)


class StructlogPlan:
    """What the short way needs to know of stock's module.

    Args:
        module: The module.
        logger: The SDK's class of loggers.
    """

    __slots__ = ("facts", "levels", "logger", "module", "name", "names", "processor", "reserved", "stack_trace")

    def __init__(self, module: Any, logger: type) -> None:
        processor = module.StructlogProcessor
        methods = [(processor, name, getattr(processor, name)) for name in ("_translate", "_get_attributes")]
        texts = module._STRUCTLOG_TO_OTEL_SEVERITY_TEXT
        self.module = module
        self.name = module.__name__
        self.names = vars(module)
        self.logger = logger
        self.processor = processor
        self.facts = Facts([(module, "get_logger", module.get_logger), *methods])
        self.reserved = module._STRUCTLOG_RESERVED_KEYS
        self.levels = {
            name: (module.std_to_otel(level), texts.get(name, name.upper()))
            for name, level in module._STRUCTLOG_LEVEL_TO_LEVELNO.items()
        }
        self.stack_trace = module.exception_attributes.EXCEPTION_STACKTRACE


def bind_call(original: Callable[..., Any], stock: StructlogPlan) -> Callable[..., object]:
    """Make the replacement for `StructlogProcessor.__call__`."""
    switch = Switch()

    def __call__(self: Any, logger: Any, method_name: str, event_dict: Any) -> Any:  # noqa: N807  # the name is in stack traces
        try:
            if not switch.inert and _try_emit(stock, self, logger, method_name, event_dict):
                return event_dict
        except Exception as error:
            faults.absorb(_PLACE, error)
        return original(self, logger, method_name, event_dict)

    return make_switchable(original, __call__, switch)


def _try_emit(stock: StructlogPlan, processor: Any, logger: Any, method: Any, event: Any) -> bool:
    """Emit the event; False if stock's method must do it."""
    if type(processor) is not stock.processor or type(event) is not dict or event.get("exc_info"):
        return False
    level = event.get("level")
    severity = stock.levels.get(level if isinstance(level, str) and level else method)
    if severity is None or not stock.facts.hold():
        return False
    sdk_logger = _logger_of(stock, processor, getattr(logger, "name", stock.name))
    if sdk_logger is None:
        return False
    reserved = stock.reserved
    attributes = {}
    for key, value in event.items():
        if key not in reserved:
            attributes[key] = value  # noqa: PERF403  # a comprehension would be a call in compiled code
    rendered = event.get("exception")
    if isinstance(rendered, str):
        attributes.setdefault(stock.stack_trace, rendered)
    moment = event.get("timestamp")
    if moment is not None:
        moment = stock.names["_parse_structlog_timestamp"](moment)
    return try_emit(
        plan_of(sdk_logger),
        moment,
        stock.names["time_ns"](),
        None,
        severity[0],
        severity[1],
        event.get("event"),
        attributes,
        None,
        None,
    )


def _logger_of(stock: StructlogPlan, processor: Any, name: Any) -> Any:
    """The SDK's logger of this name; None if there is none."""
    provider = processor._logger_provider
    held = get_item(processor.__dict__, _LOGGERS)
    loggers = None
    if isinstance(held, PlannedValues):
        kept = held
        if kept.owner == address(processor) and kept.values[0] is provider:
            loggers = kept.values[1]
    if loggers is None or len(loggers) >= _MOST_LOGGERS:
        loggers = {}
        LOGGERS.keep_values(processor, provider, loggers)
    found = loggers.get(name)
    if found is None:
        found = stock.module.get_logger(name, logger_provider=provider)
        if type(found) is not stock.logger:
            return None
        loggers[name] = found
    return found
