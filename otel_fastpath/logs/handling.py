"""From a record of `logging` to the batch queue: the `LoggingHandler` classes. Compiled as `handling_c`.

There are two: the SDK's, which is deprecated, and that of `opentelemetry-instrumentation-logging`. The short way is for
records of exactly `logging.LogRecord`, handlers without formatter and filters, and loggers whose short way is open (see
`emitting`). In any other case stock's method runs.
"""

from __future__ import annotations

import logging
from sys import maxsize, version_info
from typing import TYPE_CHECKING

from otel_fastpath.compiled.helpers import (
    address,
    get_item,
    get_value,
    is_clean,
    other_items,
    read_clock,
    reset_value,
    set_value,
)
from otel_fastpath.logs.records.cleaning import clean_attributes
from otel_fastpath.logs.records.emitting import Backoff, LogPlan, plan_of, send, span_context_in, try_open
from otel_fastpath.patching import faults
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.stack_traces import is_standard, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import ContextVar
    from typing import Any

    from otel_fastpath.compiled.facts import Facts
    from otel_fastpath.patching.sights import Sights


_LogRecord = logging.LogRecord
# Where a handler keeps its plan.
HANDLER = "_otel_fastpath_plan"
# What `Handler.handle` returns: the record since 3.12, and True before.
_RETURNS_RECORD = version_info >= (3, 12)
# The most loggers that a handler's plan knows.
_MOST_LOGGERS = 4096
# The attributes of a `logging.LogRecord` itself; stock has the same names.
RESERVED = frozenset(
    [
        "args",
        "asctime",
        "created",
        "exc_info",
        "exc_text",
        "filename",
        "funcName",
        "getMessage",
        "levelname",
        "levelno",
        "lineno",
        "message",
        "module",
        "msecs",
        "msg",
        "name",
        "pathname",
        "process",
        "processName",
        "relativeCreated",
        "stack_info",
        "taskName",
        "thread",
        "threadName",
    ]
)
# The fields of a plain record, in their order.
_USUAL = tuple(vars(_LogRecord("", 0, "", 0, "", (), None)))
_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
_OF_AN_EXCEPTION = frozenset({"exception.type", "exception.message", "exception.stacktrace"})
# What `_try_send` has done. The last: nothing, because it must be known first that the handler is at work.
_LEFT = 0
_SENT = 1
_GUARD_FIRST = 2
# Seconds since the epoch: the nanoseconds of earlier and later times do not fit into the field.
_LATEST = 9e9


class HandlerPlan(Backoff):
    """What handling a record needs to know of its handler, worked out once by `planner`.

    It is valid while `facts` hold, and for `handle` while `handling` does. `guard` says whether the handler is at work
    already; some have none. Messages that are no text stay as they are, unless `has_text_bodies`. `texts` has the
    severities with another name. `plans` has the plans of the SDK's loggers by name, but those of which `sights` saw no
    more than one record. `get_logger` returns such a logger.
    """

    __slots__ = (
        "facts",
        "get_logger",
        "guard",
        "handling",
        "has_code",
        "has_event_names",
        "has_text_bodies",
        "names",
        "plans",
        "provider",
        "severities",
        "severity",
        "sights",
        "texts",
    )
    facts: Facts
    get_logger: Callable[[str], object]
    guard: ContextVar[bool] | None
    handling: Facts
    has_code: bool
    has_event_names: bool
    has_text_bodies: bool
    names: dict[str, Any]
    plans: dict[str, LogPlan]
    provider: object
    severities: dict[int, object]
    severity: Callable[[int], object]
    sights: Sights
    texts: dict[str, str]


_make_plan: Callable[[object], HandlerPlan] | None = None


def configure(make_plan: Callable[[object], HandlerPlan]) -> None:
    """Set the function that makes the plan of a handler."""
    global _make_plan
    _make_plan = make_plan


def bind_handle(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `LoggingHandler.handle`: filters, lock and `emit` in one call."""
    switch = Switch()
    # Other code may replace it where it is inherited from.
    is_inherited = original is vars(logging.Handler)["handle"]

    def handle(self: Any, record: Any) -> object:
        try:
            if not switch.inert and _try_emit(self, record, in_handle=True):
                return record if _RETURNS_RECORD else True
        except Exception as error:
            faults.absorb_any("LoggingHandler.handle", error)
        return logging.Handler.handle(self, record) if is_inherited else original(self, record)

    return make_switchable(original, handle, switch)


def bind_emit(original: Callable[..., object]) -> Callable[..., object]:
    """Make the replacement for `LoggingHandler.emit`, which subclasses call.

    An exception of a message that cannot be formatted goes to `handleError`, as in the handlers of `logging` itself.
    """
    switch = Switch()

    def emit(self: Any, record: Any) -> None:
        inert = switch.inert
        try:
            if not inert and _try_emit(self, record, in_handle=False):
                return
        except Exception as error:
            faults.absorb_any("LoggingHandler.emit", error)
        try:
            original(self, record)
        except Exception as error:
            if inert:
                raise
            faults.raise_others(error)
            self.handleError(record)

    return make_switchable(original, emit, switch)


def _try_emit(handler: Any, record: Any, in_handle: bool) -> bool:
    """Emit the record; False if stock's method must do it."""
    if type(record) is not _LogRecord:
        return False
    fields = handler.__dict__
    plan = get_item(fields, HANDLER)
    if not isinstance(plan, HandlerPlan) or plan.owner != address(handler):
        plan = _make_plan(handler)  # type: ignore[misc]  # set before this is called
    if plan.closed > 0:
        plan.closed -= 1
        if plan.closed <= 0:
            plan.owner = 0
        return False
    if not plan.facts.hold() or get_item(fields, "_logger_provider") is not plan.provider:
        plan.close()
        return False
    if in_handle and (get_item(fields, "filters") or not plan.handling.hold()):
        return False
    guard = plan.guard
    if get_item(fields, "formatter") is not None or (guard is not None and get_value(guard)):
        return False
    values = record.__dict__
    name = values.get("name")
    if type(name) is not str:
        return False
    log_plan = get_item(plan.plans, name)
    if log_plan is None:
        log_plan = _log_plan(plan, name)
    if not try_open(log_plan):
        # It is made again when the logger has another one.
        plan.plans.pop(name, None)
        return False
    sent = _try_send(plan, log_plan, values, guard is None)
    if sent == _GUARD_FIRST and guard is not None:
        token = set_value(guard, True)  # noqa: FBT003  # a value
        try:
            sent = _try_send(plan, log_plan, values, True)  # noqa: FBT003  # positional for C
        finally:
            reset_value(guard, token)
    return sent == _SENT


def _log_plan(plan: HandlerPlan, name: str) -> LogPlan:
    found = plan_of(plan.get_logger(name))
    if plan.sights.note(name):
        keep(plan.plans, name, found, _MOST_LOGGERS)
    return found


def _are_atoms(arguments: Any) -> bool:
    """Whether these are the arguments of a message, and to format them calls no code of other people."""
    if type(arguments) is not tuple:
        return False
    # Not a generator expression: in compiled code, each one that runs leaks a reference to its type.
    for argument in arguments:  # noqa: SIM110  # see above
        if type(argument) not in _ATOMS:
            return False
    return True


def _try_send(plan: HandlerPlan, log_plan: LogPlan, values: dict[str, Any], guarded: bool) -> int:
    """Emit the record through the logger, unless stock's method must do it.

    It must where other people's code raises, so that the error is handled in one place.

    Args:
        plan: The handler's plan.
        log_plan: The logger's.
        values: The record's fields.
        guarded: Whether code that may log can be called.
    """
    created = values.get("created")
    level = values.get("levelno")
    text, arguments = values.get("msg"), values.get("args")
    exc_info = values.get("exc_info")
    is_text = type(text) is str
    if type(created) is not float or type(level) is not int or not (is_text or plan.has_text_bodies):
        return _LEFT
    moment = created
    if not 0 <= moment < _LATEST:
        return _LEFT
    is_plain = is_text and (arguments is None or _are_atoms(arguments)) and exc_info is None
    if not guarded and not (is_plain and log_plan.is_quiet):
        return _GUARD_FIRST
    kept = other_items(values, _USUAL, RESERVED)
    event_name, state = None, 1
    if kept is not None or plan.has_code or exc_info:
        kept = {} if kept is None else kept
        if plan.has_event_names:
            event_name = _event_name(kept)
        if plan.has_code:
            _add_code(kept, values)
        state = is_clean(kept, log_plan.longest)
        if state == 0 and not guarded:
            return _GUARD_FIRST
        room = log_plan.most - len(_OF_AN_EXCEPTION) if exc_info else log_plan.most
        if state < 0 or len(kept) > room or (exc_info and not _is_known(log_plan, exc_info, kept, state)):
            return _LEFT
    found = span_context_in(None)
    if found is None:
        return _LEFT
    observed = read_clock(plan.names)
    if not is_plain or state == 0 or arguments:
        try:
            text = _formatted(text, arguments)
            if state == 0:
                kept = clean_attributes(kept, log_plan.longest)  # type: ignore[arg-type]  # it has what must be cleaned
            if exc_info:
                _describe(kept, exc_info)  # type: ignore[arg-type]  # made above
        except Exception as error:
            faults.raise_interruption(error)
            return _LEFT
    number = get_item(plan.severities, level)
    if number is None:
        number = plan.severity(level)
    name = values.get("levelname")
    label = plan.texts.get(name, name) if type(name) is str else name
    send(log_plan, found, None, int(moment * 1e9), observed, number, label, text, kept or None, event_name, None)
    return _SENT


def _formatted(text: Any, arguments: Any) -> Any:
    """The message, as `logging.LogRecord.getMessage` makes it."""
    if type(text) is not str:
        text = str(text)
    return text % arguments if arguments else text


def _add_code(kept: dict[str, Any], values: dict[str, Any]) -> None:
    kept["code.file.path"] = values.get("pathname")
    kept["code.function.name"] = values.get("funcName")
    kept["code.line.number"] = values.get("lineno")


def _event_name(kept: dict[str, Any]) -> Any:
    """Take the event's name out of the attributes; the second key is the deprecated one."""
    name = kept.pop("otel.event.name", None)
    other = kept.pop("event.name", None)
    return other if name is None else name


def _is_known(log_plan: LogPlan, exc_info: Any, kept: dict[str, Any], state: int) -> bool:
    """Whether the attributes of this exception can be made here, beside others in this state (see `is_clean`)."""
    if state == 0 and not _OF_AN_EXCEPTION.isdisjoint(kept):
        # Stock cleans only those that the exception does not replace.
        return False
    if type(exc_info) is not tuple or len(exc_info) != 3 or log_plan.longest != maxsize:  # noqa: PLR2004  # as `sys.exc_info`
        return False
    kind, value, step = exc_info
    if kind is not None and type(kind) is not type:
        return False
    if step is None:
        return True
    return isinstance(value, BaseException) and value.__traceback__ is step and is_standard()


def _describe(kept: dict[str, object], exc_info: Any) -> None:
    """Add the attributes of an exception."""
    kind, value, step = exc_info
    if kind is not None:
        kept["exception.type"] = kind.__name__
    if value is not None and value.args:
        kept["exception.message"] = str(value.args[0])
    if step is not None:
        kept["exception.stacktrace"] = snapshot(value, ())
