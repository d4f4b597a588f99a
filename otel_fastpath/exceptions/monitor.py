"""Counts exceptions with `sys.monitoring`: claims a tool id, registers callbacks, reads the counts, frees the id."""

from __future__ import annotations

import importlib
import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from otel_fastpath import wrong_settings
from otel_fastpath.exceptions import files
from otel_fastpath.exceptions.defaults import HANDLED, OFF, Settings
from otel_fastpath.locks import Lock
from otel_fastpath.settings import title

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import ContextVar
    from types import CodeType

_logger = logging.getLogger(__name__)

TOOL_NAME: Final = "otel-fastpath"
# In order of preference: 5 is not used by a known tool; 3 and 4 only by ddtrace; 2 by cProfile; 1 by coverage, which
# can use another id.
TOOL_IDS: Final = (5, 3, 4, 2, 1)
OTHER: Final = "_OTHER"


class Engine(Protocol):
    """The callbacks and their counts: `callbacks_c` or `callbacks`."""

    Operation: Callable[..., Any]
    on_raise: Callable[..., None]
    on_reraise: Callable[..., None]
    on_handled: Callable[..., None]

    def configure(  # noqa: D102  # described in `callbacks`
        self,
        limit: int,
        skip: frozenset[str],
        filters: files.Filters,
        counted_by_default: bool,
        by_site: bool,
        marks: bool,
        /,
    ) -> None: ...
    def watch(self, variable: ContextVar[Any] | None, /) -> None: ...  # noqa: D102  # described in `callbacks`
    def counts(self) -> list[tuple[str | None, int, int, bool]]: ...  # noqa: D102  # described in `callbacks`
    def site_counts(self) -> list[tuple[str | None, CodeType, int, int]]: ...  # noqa: D102  # described in `callbacks`
    def reset(self) -> None: ...  # noqa: D102  # described in `callbacks`


@dataclass(frozen=True)
class SiteCount:
    """The exceptions of one type that were raised at one place.

    Attributes:
        function: The qualified name of the function.
        file: The file of the function.
        line: The line; 0 if unknown.
        raised: The number of exceptions.
    """

    function: str
    file: str
    line: int
    raised: int


@dataclass(frozen=True)
class TypeCount:
    """The exceptions of one type since the start of the process.

    Attributes:
        type: Module and qualified name, for builtins the name only; `_OTHER` for the types beyond the limit.
        raised: The number of exceptions that were raised.
        handled: How many of them were caught and not raised again; None if that is not counted.
        sites: Where they were raised, the most frequent place first; empty unless asked for.
    """

    type: str
    raised: int
    handled: int | None
    sites: tuple[SiteCount, ...] = ()


class _CounterState:
    """The state of the counters in this process."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.engine: Engine | None = None
        self.tool_id: int | None = None
        self.settings = Settings(mode=OFF)
        self.reason = "not started"
        # Whether counting was requested but is not possible.
        self.is_refused = False


state = _CounterState()


def prepare(settings: Settings, core: str | None = None) -> bool:
    """Prepare for counting, or log why it is not possible; returns whether `run` can be called."""
    # Imports and log handlers run here, without the lock.
    engine, reason = _engine(settings, core) if settings.mode != OFF else (None, "")
    filters = files.filters(settings.modules) if engine is not None else ((), False)
    is_ready = _prepare(settings, engine, reason, filters)
    if not is_ready and settings.mode != OFF:
        _logger.log(
            logging.WARNING if settings.asked else logging.INFO, "Exceptions are not counted: %s.", state.reason
        )
    return is_ready


def _prepare(settings: Settings, engine: Engine | None, reason: str, filters: tuple[files.Filters, bool]) -> bool:
    with state.lock:
        stop("switched off")
        state.settings = settings
        if settings.mode == OFF:
            return False
        tool_id = claim() if engine is not None else None
        if engine is None or tool_id is None:
            state.is_refused = True
            state.reason = reason or f"all of the tool ids {TOOL_IDS} of sys.monitoring are taken: {_owners()}"
            return False
        engine.configure(settings.limit, settings.skip, *filters, settings.code, True)  # noqa: FBT003  # positional only
        state.engine, state.tool_id, state.reason = engine, tool_id, ""
        return True


def run() -> None:
    """Start counting."""
    with state.lock:
        if state.engine is not None and state.tool_id is not None:
            _register(state.engine, state.tool_id, handled=counts_handled())


def renew() -> None:
    """If another tool has freed our tool id, go on with another one, or say why that is not possible."""
    if sys.version_info < (3, 12):
        return
    with state.lock:
        engine, lost = state.engine, state.tool_id
        if engine is None or lost is None or sys.monitoring.get_tool(lost) == TOOL_NAME:
            return
        _take_back(engine, lost)
        state.tool_id = claim()
        state.reason = f"another tool freed the tool id {lost} of sys.monitoring; "
        if state.tool_id is None:
            state.is_refused = True
            state.reason += f"all are taken: {_owners()}"
            engine.watch(None)
        else:
            state.reason += f"{state.tool_id} is used since"
            _register(engine, state.tool_id, handled=counts_handled())


def _take_back(engine: Engine, tool_id: int) -> None:
    """Unregister our callbacks, and no other's, of a tool id that is no longer ours: 3.12 and 3.13 still call them."""
    if sys.version_info >= (3, 12):
        own = (engine.on_raise, engine.on_reraise, engine.on_handled)
        events = sys.monitoring.events
        for event in (events.RAISE, events.RERAISE, events.EXCEPTION_HANDLED):
            found = sys.monitoring.register_callback(tool_id, event, None)
            if found is not None and found not in own:
                sys.monitoring.register_callback(tool_id, event, found)


def stop(reason: str = "stopped") -> None:
    """Stop counting and free the tool id; the counts are kept."""
    with state.lock:
        state.reason, state.is_refused = reason, False
        if state.tool_id is None:
            return
        tool_id, state.tool_id = state.tool_id, None
        if state.engine is not None:
            state.engine.watch(None)
        if sys.version_info >= (3, 12) and sys.monitoring.get_tool(tool_id) == TOOL_NAME:
            clear(tool_id)
            sys.monitoring.free_tool_id(tool_id)


def is_counting() -> bool:
    """Whether exceptions are being counted."""
    return state.tool_id is not None


def counts_handled() -> bool:
    """Whether handled exceptions are counted, which needs the compiled callbacks."""
    return state.settings.mode == HANDLED and is_compiled()


def is_compiled() -> bool:
    """Whether the callbacks are the compiled ones."""
    return state.engine is not None and state.engine.__name__.endswith(".callbacks_c")  # type: ignore[attr-defined]


def snapshot() -> tuple[TypeCount, ...]:
    """The exceptions of this process by type, the most frequent first.

    In a child process, only those since the fork. The counts are kept after `stop`.
    """
    engine = state.engine
    if engine is None:
        return ()
    # The rows first: an exception raised in between may then be counted in a site only, but not in a row only.
    rows = engine.counts()
    sites = _sites(engine) if state.settings.code else {}
    handled_is_known = counts_handled()
    counts = (
        TypeCount(
            name or OTHER,
            raised,
            min(max(handled, 0), raised) if handled_is_known and markable else None,
            tuple(sites.get(name, ())),
        )
        for name, raised, handled, markable in rows
        if raised
    )
    return tuple(sorted(counts, key=lambda count: (-count.raised, count.type)))


def after_fork() -> None:
    """Reset the counts in a child process, which inherits the events and callbacks."""
    if state.engine is not None:
        state.engine.reset()


def claim() -> int | None:
    """Claim the first free tool id and clear what an earlier owner left on it; None if no id is free."""
    if sys.version_info < (3, 12):
        return None
    for tool_id in TOOL_IDS:
        if sys.monitoring.get_tool(tool_id) is None:
            try:
                sys.monitoring.use_tool_id(tool_id, TOOL_NAME)
            except ValueError:
                # Another thread has claimed it meanwhile.
                continue
            clear(tool_id)
            return tool_id
    return None


def clear(tool_id: int) -> None:
    """Disable all events of the tool id and unregister its callbacks: before 3.14, freeing the id does neither."""
    if sys.version_info >= (3, 12):
        sys.monitoring.set_events(tool_id, 0)
        for event in vars(sys.monitoring.events).values():
            if isinstance(event, int) and event.bit_count() == 1:
                sys.monitoring.register_callback(tool_id, event, None)


def _register(engine: Engine, tool_id: int, *, handled: bool) -> None:
    if sys.version_info >= (3, 12):
        events = sys.monitoring.events
        callbacks = {events.RAISE: engine.on_raise}
        if handled:
            callbacks[events.RERAISE] = engine.on_reraise
            callbacks[events.EXCEPTION_HANDLED] = engine.on_handled
        for event, callback in callbacks.items():
            sys.monitoring.register_callback(tool_id, event, callback)
        sys.monitoring.set_events(tool_id, sum(callbacks))


def _engine(settings: Settings, core: str | None) -> tuple[Engine | None, str]:
    """The callbacks to use, or why there are none."""
    if sys.version_info < (3, 12):
        return None, "sys.monitoring needs Python 3.12"
    if core == "py":
        reason = "OTEL_FASTPATH_CORE=py leaves the compiled callback out"
    else:
        try:
            return importlib.import_module("otel_fastpath.exceptions.callbacks_c"), ""
        except ModuleNotFoundError:
            reason = "the compiled callback is not built"
        except ImportError as error:
            reason = f"the compiled callback cannot be imported ({error})"
            _logger.warning("The compiled exception callback exists but cannot be imported: %s", error)
    if not settings.python:
        return None, f"{reason}; OTEL_FASTPATH_EXCEPTIONS=python counts without it"
    if settings.mode == HANDLED:
        expected = f"raised: {HANDLED} takes the compiled callback, and {reason}"
        wrong_settings.report(title("exceptions"), HANDLED, expected, "Handled exceptions are not counted.")
    return importlib.import_module("otel_fastpath.exceptions.callbacks"), ""


def _owners() -> str:
    if sys.version_info < (3, 12):
        return ""
    return ", ".join(f"{tool_id} by {sys.monitoring.get_tool(tool_id)}" for tool_id in TOOL_IDS)


def _sites(engine: Engine) -> dict[str | None, list[SiteCount]]:
    """The counts per place and type. Functions that are defined again at the same place are counted as one."""
    totals: dict[tuple[str | None, str, str, int], int] = {}
    for name, code, offset, raised in engine.site_counts():
        place = (name, code.co_qualname, code.co_filename, _line(code, offset))
        totals[place] = totals.get(place, 0) + raised
    found: dict[str | None, list[SiteCount]] = {}
    for (name, function, file, line), raised in sorted(totals.items(), key=lambda item: -item[1]):
        found.setdefault(name, []).append(SiteCount(function, file, line, raised))
    return found


def _line(code: CodeType, offset: int) -> int:
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return line or 0
    return 0
