"""The hot modules of metrics, made ready for the settings of this process."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from otel_fastpath import compiled

if TYPE_CHECKING:
    from otel_fastpath.metrics.collecting import Collector
    from otel_fastpath.metrics.planner import Planner
    from otel_fastpath.settings import Config


class Ready:
    """One implementation of the hot modules; each part is made when what it takes the place of is there.

    Args:
        core: "c" or "py".
    """

    def __init__(self, core: str) -> None:
        self._core = core
        # As in `set_up`, for what is made from here on.
        self.settings: Config | None = None

    @functools.cached_property
    def recording(self) -> Any:
        """`metrics.recording`: what stands in the place of the instruments' methods."""
        # The core looks at spans. Were it the first to import this, tracers would be patched while the core is half
        # there.
        importlib.import_module("opentelemetry.sdk.trace")
        return compiled.hot("metrics.recording", self._core)

    @functools.cached_property
    def planner(self) -> Planner:
        """What makes the recorders."""
        recording = self.recording
        from otel_fastpath.metrics.planner import Planner  # noqa: PLC0415  # it imports the SDK: only where it is patched

        planner = Planner(
            recording, compiled.hot("metrics.series", self._core), compiled.hot("metrics.exemplars", self._core)
        )
        recording.configure(planner.make_recorder)
        return planner

    @functools.cached_property
    def collector(self) -> Collector:
        """What collects the points."""
        from otel_fastpath.metrics.collecting import Collector  # noqa: PLC0415  # likewise

        return Collector(compiled.hot("metrics.points", self._core).points_of)


@functools.cache
def ready(core: str) -> Ready:
    """What is there of this implementation."""
    return Ready(core)


def set_up(settings: Config) -> Ready:
    """Make the hot modules ready, whenever a patch that needs them is put in place.

    Args:
        settings: For what is made from here on.
    """
    found = ready(compiled.implementation()[0])
    found.settings = settings
    return found


def forget_recorders() -> None:
    """Take the recorders off the instruments."""
    ready(compiled.implementation()[0]).planner.forget()
