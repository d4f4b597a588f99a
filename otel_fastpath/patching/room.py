"""What a room of the package declares of itself, in its module `register`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.patch import Patch, Row


@dataclass(frozen=True)
class Room:
    """A folder of the package that can be deleted, with its line in `otel_fastpath.rooms`, and takes its feature along.

    What has a life of its own beside the patches overrides `start`, `stop` and `status`.

    Attributes:
        name: The folder's.
        patches: What is in place while the process is instrumented, in the order in which it is put there.
        wrappers: What `otel_fastpath.libraries` wraps, a `Library` each, with patches of its own.
        own_patches: What `start` puts in place when it is asked for.
        without: What the log says where `start` fails.
    """

    name: str
    patches: tuple[Patch, ...] = ()
    wrappers: tuple[Any, ...] = ()
    own_patches: tuple[Patch, ...] = ()
    without: str = ""

    def all_patches(self) -> tuple[Patch, ...]:
        """Every patch that is declared here."""
        of_wrappers = (patch for wrapper in self.wrappers for patch in wrapper.patches)
        return (*self.patches, *of_wrappers, *self.own_patches)

    def start(self, settings: Any, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        """Begin, once the patches of all rooms are in place or wait for their modules.

        Args:
            settings: An `otel_fastpath.settings.Config`.
            off: Why what has this name is left off; None: it is on.
            providers: The keyword arguments of `instrument()`; of them `tracer_provider`, `meter_provider` and
                `logger_provider`.
        """

    def stop(self) -> None:
        """End, before the patches are taken off."""

    def status(self) -> list[Row]:
        """What became of it."""
        return []
