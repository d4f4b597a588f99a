"""The room of the exception counters, which are started if the settings ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath import exceptions
from otel_fastpath.exceptions import boundaries, operations
from otel_fastpath.patching.room import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config


class _Exceptions(Room):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        reason = off(exceptions.NAME)
        if reason is not None:
            exceptions.stop(reason)
            return
        exceptions.start(
            exceptions.Settings.parse(*settings.exceptions),
            settings.core,
            meter_provider=providers.get("meter_provider"),
            tracer_provider=providers.get("tracer_provider"),
        )

    def stop(self) -> None:
        exceptions.stop("uninstrumented")

    def status(self) -> list[Row]:
        return exceptions.status()


ROOM: Final = _Exceptions(
    "exceptions",
    own_patches=(
        *boundaries.PATCHES,
        *operations.PATCHES,
    ),
    without="Exceptions are not counted.",
)
