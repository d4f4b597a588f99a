"""Says that otel-fastpath is active: one INFO record in the log and, with full telemetry, a metric of its patches."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import Observation

from otel_fastpath import compiled, left_out, own_metrics
from otel_fastpath.locks import Lock
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.patch import State
from otel_fastpath.patching.quiet import Quiet

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
_logger = Quiet(_LOGGER)
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
    """Whether anybody reads our INFO records."""
    return logging.getLogger(_LOGGER).isEnabledFor(logging.INFO)


def say(rows: Callable[[], Sequence[Row]], why_off: str) -> None:
    """Log the version, the core and the number of patches, once per process. Without a reader, nothing is counted.

    Args:
        rows: Returns the rows of what is loaded.
        why_off: Why nothing is patched at all; empty if patches are applied.
    """
    global _is_said
    if not is_heard():
        return
    with _lock:
        if _is_said:
            return
        _is_said = True
    version = interpreter.version("otel-fastpath") or "?"
    if why_off:
        _logger.log(logging.INFO, "otel-fastpath %s: off, %s", version, why_off)
        return
    found = [row.state for row in rows()]
    core = _CORES.get(compiled.implementation()[0], "no core")
    applied, skipped = (found.count(state) for state in STATES)
    text = "otel-fastpath %s: %s, %d patches applied, %d skipped"
    _logger.log(logging.INFO, text, version, core, applied, skipped)


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
