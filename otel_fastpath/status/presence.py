"""Says that otel-fastpath is active: a line in the log or on stderr and, with full telemetry, a count of patches."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import Observation

from otel_fastpath import compiled, console, left_out, own_metrics
from otel_fastpath.locks import Lock
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from otel_fastpath.patching.patch import Row

NAME: Final = "otel_fastpath.patch.count"
UNIT: Final = "{patch}"
DESCRIPTION: Final = "The number of patches that are in the state described by the state attribute."
STATE: Final = "otel_fastpath.patch.state"
LEFT_OUT_NAME: Final = "otel_fastpath.left_out"
LEFT_OUT_UNIT: Final = "{item}"
LEFT_OUT_DESCRIPTION: Final = "The number of items that were left out of the telemetry because there were too many."
LEFT_OUT_KIND: Final = "otel_fastpath.left_out.kind"
STATES: Final = (State.APPLIED, State.SKIPPED)

_CORES: Final = {"c": "compiled", "py": "pure Python"}
_LOGGER: Final = "otel_fastpath"
_logger = logging.getLogger(_LOGGER)
_lock = Lock()
_is_said = False
# Returns the rows of what is loaded; None while this process is not instrumented.
_rows: Callable[[], Sequence[Row]] | None = None
_providers = own_metrics.MeterProviders()


def forget() -> None:
    """Log the first line again, as in a new process."""
    global _is_said
    _is_said = False


def is_heard() -> bool:
    """Whether INFO records of this package are logged."""
    return _logger.isEnabledFor(logging.INFO)


def say(rows: Callable[[], Sequence[Row]], why_off: str, *, is_wanted: bool) -> None:
    """Show the version, the core and the number of patches, once per process.

    Logged; also written to stderr if it is wanted and no handler writes it to the console, unless the logger has a
    level of its own that leaves it out. If nobody would see it, nothing is counted.

    Args:
        rows: Returns the rows of what is loaded.
        why_off: Why nothing is patched at all; empty if patches are applied.
        is_wanted: Whether it may be written to stderr.
    """
    global _is_said
    if _logger.level > logging.INFO or not (is_wanted or is_heard()):
        return
    with _lock:
        if _is_said:
            return
        _is_said = True
    version = interpreter.version("otel-fastpath") or "?"
    text = f"otel-fastpath {version}: "
    if why_off:
        text += f"off, {why_off}"
    else:
        found = [row.state for row in rows()]
        core = _CORES.get(compiled.implementation()[0], "no core")
        applied, skipped = (found.count(state) for state in STATES)
        text += f"{core}, {applied} patches applied, {skipped} skipped"
    console.show(_logger, logging.INFO, text, prefix="", is_for_stderr=is_wanted)


def count(rows: Callable[[], Sequence[Row]], meter_provider: Any = None) -> None:
    """Report the number of patches by state from now on.

    Args:
        rows: Returns the rows of what is loaded.
        meter_provider: The meter provider; by default the global one, which may also be set later.
    """
    global _rows
    _rows = rows
    if not _providers.add(meter_provider):
        return
    meter = metrics.get_meter(own_metrics.PATCHES, meter_provider=meter_provider)
    is_global = meter_provider is None
    observe = _globally(_observe) if is_global else _observe
    meter.create_observable_up_down_counter(NAME, callbacks=[observe], unit=UNIT, description=DESCRIPTION)
    observe = _globally(_observe_left_out) if is_global else _observe_left_out
    meter.create_observable_counter(
        LEFT_OUT_NAME, callbacks=[observe], unit=LEFT_OUT_UNIT, description=LEFT_OUT_DESCRIPTION
    )


def stop() -> None:
    """Report nothing from now on."""
    global _rows
    _rows = None


def _observe(_options: Any) -> Iterable[Observation]:
    if _rows is None:
        return ()
    found = [row.state for row in _rows()]
    return [Observation(found.count(state), {STATE: state.value}) for state in STATES]


def _observe_left_out(_options: Any) -> Iterable[Observation]:
    found = {} if _rows is None else left_out.counts()
    return [Observation(count, {LEFT_OUT_KIND: kind}) for kind, count in found.items()]


def _globally(observe: Callable[[Any], Iterable[Observation]]) -> Callable[[Any], Iterable[Observation]]:
    """The callback for the global provider: reports nothing if nothing else would be exported."""
    return lambda options: observe(options) if own_metrics.has_use(metrics.get_meter_provider()) else ()
