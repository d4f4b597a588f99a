"""The room of the exception counters, which are started if the settings ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath import exceptions
from otel_fastpath.exceptions import boundaries, operations
from otel_fastpath.patching.room import Room
from otel_fastpath.settings import SAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config


# Whether `instrument()` has started the counters; if not, the code of the service may have, by `exceptions.start`.
_is_started = False


class _Exceptions(Room):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        global _is_started
        _is_started = False
        reason = off(exceptions.NAME)
        if reason is not None:
            exceptions.stop(reason)
            return
        wanted = exceptions.Settings.parse(*settings.exceptions)
        if settings.telemetry == SAME and not wanted.asked:
            if not _is_on():
                exceptions.stop(f"telemetry={SAME}: counting exceptions was not asked for")
            return
        _is_started = True
        exceptions.start(
            wanted,
            settings.core,
            meter_provider=providers.get("meter_provider"),
            tracer_provider=providers.get("tracer_provider"),
        )

    def stop(self) -> None:
        if _is_started or not _is_on():
            exceptions.stop("uninstrumented")

    def status(self) -> list[Row]:
        return exceptions.status()


def _is_on() -> bool:
    return exceptions.is_counting() or boundaries.is_on()


ROOM: Final = _Exceptions(
    "exceptions",
    own_patches=(
        *boundaries.PATCHES,
        *operations.PATCHES,
    ),
    without="Exceptions are not counted.",
)
