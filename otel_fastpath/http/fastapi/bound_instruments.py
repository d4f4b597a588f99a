"""The instruments of FastAPI's own telemetry, bound once to the attributes that requests share.

Compiled as `instruments_c`.
"""

from __future__ import annotations

from typing import Any

from otel_fastpath.compiled.helpers import address, get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.http.servers.server_metrics import PLAN, RequestLabels, keep_plan
from otel_fastpath.metrics.bind import bind
from otel_fastpath.patching.cache import keep
from otel_fastpath.patching.plans import Plan


class ApplicationInstruments(Plan):
    """What is kept for one application.

    Args:
        duration: The histogram of durations.
        active: The counter of requests in progress.
    """

    __slots__ = ("_active", "_bound", "_duration")

    def __init__(self, duration: Any, active: Any) -> None:
        self._duration, self._active = duration, active
        self._bound: dict[Any, Any] = {}

    def is_of(self, own: Any, duration: Any, active: Any) -> bool:
        """Whether it is the plan of this application, and these are its instruments."""
        return self.owner == address(own) and self._duration is duration and self._active is active

    def labels(self, attributes: dict[str, Any]) -> RequestLabels:
        """The bound counter of requests in progress with these attributes."""
        return self._found(attributes, True)  # type: ignore[no-any-return]  # noqa: FBT003  # positional for C

    def histogram(self, attributes: dict[str, Any]) -> Any:
        """The bound histogram of durations with these attributes: the status or an error is one of them."""
        return self._found(attributes, False)  # noqa: FBT003  # positional for C

    def _found(self, attributes: dict[str, Any], is_counter: bool) -> Any:
        key = tuple(attributes.items())
        found = get_item(self._bound, key)
        if found is None:
            found = bind(self._active if is_counter else self._duration, attributes)
            if is_counter:
                found = RequestLabels(found, attributes, attributes, 0)
            if sum([len(str(value)) for value in attributes.values()]) <= LONGEST:
                keep(self._bound, key, found)
        return found


def instruments_of(own: Any) -> ApplicationInstruments:
    """What is kept for an application: for its instruments at this time."""
    duration, active = own._instruments()
    known = get_item(own.__dict__, PLAN)
    if isinstance(known, ApplicationInstruments):
        plan = known
        if plan.is_of(own, duration, active):
            return plan
    return keep_plan(ApplicationInstruments(duration, active), own)  # type: ignore[no-any-return]  # the plan
