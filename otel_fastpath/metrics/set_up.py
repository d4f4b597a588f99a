"""Prepares the hot modules of metrics for the settings of this process."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import TYPE_CHECKING, Any

from otel_fastpath import compiled
from otel_fastpath.compiled import hot
from otel_fastpath.compiled.sharing import IS_INTERRUPTED_AT_JUMPS

if TYPE_CHECKING:
    from otel_fastpath.metrics.collecting import Collector
    from otel_fastpath.metrics.observed import ObservableCollector
    from otel_fastpath.metrics.planner import InstrumentPlanner
    from otel_fastpath.settings import Config


class Ready:
    """One implementation of the hot modules; each part is created when the code that it replaces is imported.

    Args:
        core: "c" or "py".
    """

    def __init__(self, core: str) -> None:
        self._core = core
        # See `set_up`.
        self.settings: Config | None = None

    @functools.cached_property
    def recording(self) -> Any:
        """The module `metrics.instruments.recording`, which replaces the instruments' methods."""
        # The hot modules of metrics import those of spans. If they were the first to import the SDK's tracing, tracers
        # would be patched while these modules are only partly imported.
        importlib.import_module("opentelemetry.sdk.trace")
        return hot.metrics_instruments_recording

    @functools.cached_property
    def planner(self) -> InstrumentPlanner:
        """Makes the recorders."""
        recording = self.recording
        from otel_fastpath.metrics.instruments.reentry import MarkedLock  # noqa: PLC0415  # likewise
        from otel_fastpath.metrics.planner import InstrumentPlanner  # noqa: PLC0415  # it imports the SDK: only where it is patched

        # Otherwise a signal handler or a finalizer runs neither between a lock's `__enter__` and the block, as since
        # 3.14, nor in the block, as in 3.10.
        is_interrupted = not compiled.is_compiled(self._core) and (
            IS_INTERRUPTED_AT_JUMPS or sys.version_info >= (3, 14)
        )
        planner = InstrumentPlanner(
            recording,
            hot.metrics_instruments_series,
            hot.metrics_instruments_exemplars,
            hot.patching_plans.PlanStore,
            MarkedLock if is_interrupted else lambda lock: lock,
            # Only code in C is alone as long as it calls nothing.
            skips_locks=compiled.is_compiled(self._core),
        )
        recording.configure(planner.make_recorder)
        return planner

    @functools.cached_property
    def observables(self) -> ObservableCollector:
        """Collects what observable instruments observe."""
        planner = self.planner
        from otel_fastpath.metrics.observed import ObservableCollector  # noqa: PLC0415  # likewise

        return ObservableCollector(
            hot.metrics_instruments_observing.observe,
            hot.metrics_instruments_series.ObservedSeries,
            planner.make_observed,
            hot.patching_plans.PlanStore,
        )

    @functools.cached_property
    def collector(self) -> Collector:
        """Collects the data points."""
        from otel_fastpath.metrics.collecting import Collector  # noqa: PLC0415  # likewise

        return Collector(hot.metrics_points.points_of)


@functools.cache
def ready(core: str) -> Ready:
    """The `Ready` object of this implementation."""
    return Ready(core)


def set_up(settings: Config) -> Ready:
    """Prepare the hot modules. Called whenever a patch that needs them is applied.

    Args:
        settings: The settings for all objects created from now on.
    """
    found = ready(compiled.implementation()[0])
    found.settings = settings
    return found


def forget_recorders() -> None:
    """Remove the recorders from all instruments."""
    ready(compiled.implementation()[0]).planner.forget()
