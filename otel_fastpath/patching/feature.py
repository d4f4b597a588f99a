"""What each feature of the package declares in its module `register`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.declarations import Declarations
    from otel_fastpath.patching.instrumentor_report import TracerStatus
    from otel_fastpath.patching.patch import Patch, Row


class OwnMetric(NamedTuple):
    """A metric of this package's own: a row of docs/telemetry-metrics.md."""

    part: str
    name: str
    kind: str
    unit: str
    description: str


@dataclass(frozen=True)
class Feature:
    """A folder of the package, or one for each library: deleting it and its line in `features` removes the feature.

    A feature that does more than apply patches overrides `start`, `stop`, `status`, `metrics` and `ways`.

    Attributes:
        name: Its name in the settings and in the status.
        parts: What is loaded while the process is instrumented, in this order, each part when it is needed.
        own_parts: The parts that `start` loads if the settings ask for them.
        settings: The settings of its own, each a `Setting` of `otel_fastpath.settings`.
        without: The log message if `start` fails.
    """

    name: str
    parts: tuple[Declarations, ...] = ()
    own_parts: tuple[Declarations, ...] = ()
    settings: tuple[Any, ...] = ()
    without: str = ""

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The patches that are applied while the process is instrumented; loads every part."""
        return _patches(self.parts)

    @property
    def wrappers(self) -> tuple[Any, ...]:
        """The `Library` objects of `otel_fastpath.wrapping`, each with its own patches; loads every part."""
        return tuple(part.load() for part in self.parts if part.wrapper)

    @property
    def own_patches(self) -> tuple[Patch, ...]:
        """The patches that `start` applies if the settings ask for them; loads them."""
        return _patches(self.own_parts)

    def all_patches(self) -> tuple[Patch, ...]:
        """Every patch of this feature."""
        of_wrappers = (patch for wrapper in self.wrappers for patch in wrapper.patches)
        return (*self.patches, *of_wrappers, *self.own_patches)

    def start(self, settings: Any, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        """Start, after the patches of all features are applied or wait for their modules.

        Args:
            settings: An `otel_fastpath.settings.Config`.
            off: Returns why the feature, patch or wrapper of this name is off, or None if it is on.
            providers: The keyword arguments of `instrument()`, with `tracer_provider`, `meter_provider` and
                `logger_provider` among them.
        """

    def stop(self) -> None:
        """Stop, before the patches are removed."""

    def status(self, *, loads: bool = True) -> list[Row]:  # noqa: ARG002  # for the features that override it
        """The rows that this feature adds to the status.

        Args:
            loads: Whether to load what is not needed so far, for its rows.
        """
        return []

    def metrics(self) -> list[OwnMetric]:
        """The metrics that this feature reports of itself; loads what declares them."""
        return []

    def ways(self) -> list[TracerStatus]:
        """The way of the spans of each tracer in use, for the feature that starts them."""
        return []


def _patches(parts: tuple[Declarations, ...]) -> tuple[Patch, ...]:
    return tuple(patch for part in parts if not part.wrapper for patch in part.patches())
