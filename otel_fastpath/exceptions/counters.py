"""Starts and stops the counters of exceptions; `otel_fastpath.exceptions` has the public names."""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.exceptions import boundaries, monitor, observables, server_spans
from otel_fastpath.exceptions.defaults import OFF, Settings
from otel_fastpath.exceptions.monitor import is_counting, snapshot
from otel_fastpath.patching.patch import Row, State

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = "exceptions"
_WHY: Final = "Counts each exception once, by type; costs nothing while none is raised."


def start(
    settings: Settings, core: str | None = None, *, meter_provider: Any = None, tracer_provider: Any = None
) -> bool:
    """Count exceptions from now on, and report them as OpenTelemetry metrics.

    Args:
        settings: What to count.
        core: "py" if the compiled callback must not be used.
        meter_provider: The meter provider; by default the global one.
        tracer_provider: The tracer provider for `Settings.operations`; by default the global one.

    Returns:
        Whether exceptions are counted; if not, the log says why. False on Python 3.10 and 3.11, where only uncaught
        exceptions can be counted.
    """
    stop()
    _watch_forks()
    if sys.version_info < (3, 12):
        monitor.state.reason = "sys.monitoring needs Python 3.12"
        if settings.mode != OFF:
            boundaries.start(settings, meter_provider)
        return False
    if not monitor.prepare(settings, core) or monitor.state.engine is None:
        return False
    observables.install(observables.RAISED_NAME, _raised, meter_provider)
    if monitor.counts_handled():
        observables.install(observables.HANDLED_NAME, _handled, meter_provider)
    if settings.operations:
        server_spans.install(settings, monitor.state.engine.Operation, tracer_provider)
        monitor.state.engine.watch(server_spans.current)
    # Last, so that no exceptions of our own code are counted.
    monitor.run()
    return True


def stop(reason: str = "stopped") -> None:
    """Stop counting and release all resources; `snapshot` still returns the counts."""
    server_spans.uninstall()
    boundaries.stop()
    monitor.stop(reason)


def is_on() -> bool:
    """Whether exceptions are counted, or the uncaught ones."""
    return is_counting() or boundaries.is_on()


def status() -> list[Row]:
    """The state of the counters and of their patches, as shown by `otel-fastpath status`."""
    if boundaries.is_on():
        reason = f"{monitor.state.reason}: only uncaught exceptions are counted"
        return [Row(NAME, "sys.monitoring", State.SKIPPED, reason, _WHY), *boundaries.status()]
    monitor.renew()
    if not is_counting():
        state = State.SKIPPED if monitor.state.is_refused else State.OFF
        return [Row(NAME, "sys.monitoring", state, monitor.state.reason, _WHY)]
    why_unused = observables.why_unused()
    reasons = (monitor.state.reason, f"counted, and not reported: {why_unused}" if why_unused else "")
    rows = [Row(NAME, "sys.monitoring", State.APPLIED, "; ".join(filter(None, reasons)), _WHY)]
    return rows + (server_spans.status() if monitor.state.settings.operations else [])


@functools.cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        for call in (monitor.after_fork, boundaries.after_fork, observables.after_fork):
            os.register_at_fork(after_in_child=call)


def _raised() -> Iterator[tuple[observables.Attributes, int]]:
    monitor.renew()
    return observables.raised(snapshot() if is_counting() else ())


def _handled() -> Iterator[tuple[observables.Attributes, int]]:
    return observables.handled(snapshot() if is_counting() and monitor.counts_handled() else ())
