"""The instruments of FastAPI's own telemetry, bound once to the attributes that requests share.

Compiled as `instruments_c`.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching.cache import keep

_NAME: Final = "_otel_fastpath"


class ApplicationInstruments:
    """What is kept for one application.

    Args:
        duration: The histogram of durations.
        active: The counter of requests in progress.
    """

    __slots__ = ("_actives", "_durations", "active", "duration")

    def __init__(self, duration: Any, active: Any) -> None:
        self.duration = duration
        self.active = active
        self._actives: dict[Any, Any] = {}
        self._durations: dict[Any, Any] = {}

    def counter(self, attributes: dict[str, Any]) -> Any:
        """The bound counter of requests in progress with these attributes."""
        return self._bound(self._actives, self.active, attributes)

    def histogram(self, attributes: dict[str, Any]) -> Any:
        """The bound histogram of durations with these attributes."""
        return self._bound(self._durations, self.duration, attributes)

    def _bound(self, known: dict[Any, Any], instrument: Any, attributes: dict[str, Any]) -> Any:
        key = tuple(attributes.items())
        found = get_item(known, key)
        if found is None:
            found = bind(instrument, attributes)
            if sum([len(str(value)) for value in attributes.values()]) <= LONGEST:
                keep(known, key, found)
        return found


def kept_for(own: Any) -> ApplicationInstruments:
    """What is kept for an application: for its instruments at this time."""
    duration, active = own._instruments()
    kept: ApplicationInstruments | None = vars(own).get(_NAME)
    if kept is None or kept.duration is not duration or kept.active is not active:
        kept = vars(own)[_NAME] = ApplicationInstruments(duration, active)
    return kept
