"""The feature of the exception counters, which are loaded and started if the settings ask for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.patching.feature import Feature, OwnMetric
from otel_fastpath.settings import SAME, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config

# The arguments of `defaults.Settings.parse`, in its order.
_SETTINGS: Final = tuple(
    Setting(name, loads_all=True)
    for name in ("exceptions", "exceptions_skip", "exceptions_modules", "exceptions_limit")
)
_COUNTERS: Final = f"{__name__.rpartition('.')[0]}.counters"

# Whether `instrument()` has started the counters; if not, the code of the service may have, by `exceptions.start`.
_is_started = False
# Why they are off, until they are loaded.
_why_off = ""


class _Exceptions(Feature):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        global _is_started
        _is_started = False
        reason = off(self.name)
        if reason is not None:
            _stop(reason)
            return
        is_same = settings.telemetry == SAME
        not_asked = f"telemetry={SAME}: counting exceptions was not asked for"
        given = [settings.features[each.name] for each in _SETTINGS]
        if is_same and not any(given) and not _is_loaded():
            _stop(not_asked)
            return
        counters = _load()
        wanted = counters.Settings.parse(*given)
        if is_same and not wanted.asked:
            if not _is_on():
                _stop(not_asked)
            return
        _is_started = True
        counters.start(
            wanted,
            settings.core,
            meter_provider=providers.get("meter_provider"),
            tracer_provider=providers.get("tracer_provider"),
        )

    def stop(self) -> None:
        if _is_started or not _is_on():
            _stop("uninstrumented")

    def status(self, *, loads: bool = True) -> list[Row]:
        found: list[Row] = _load().status() if loads or _is_loaded() else []
        return found

    def metrics(self) -> list[OwnMetric]:
        from otel_fastpath.exceptions.observables import DESCRIPTIONS, UNIT  # noqa: PLC0415  # only for the page

        kind = "observable counter"
        return [OwnMetric("exception counters", name, kind, UNIT, text) for name, text in DESCRIPTIONS.items()]


def _is_loaded() -> bool:
    return _COUNTERS in sys.modules


def _load() -> Any:
    """The module of the counters, imported now."""
    global _why_off
    from otel_fastpath.exceptions import counters  # noqa: PLC0415  # only if they are asked for

    reason, _why_off = _why_off, ""
    if reason and not counters.is_on():
        counters.stop(reason)
    return counters


def _stop(reason: str) -> None:
    global _why_off
    if _is_loaded():
        _load().stop(reason)
    else:
        _why_off = reason


def _is_on() -> bool:
    return _is_loaded() and bool(_load().is_on())


FEATURE: Final = _Exceptions(
    "exceptions",
    settings=_SETTINGS,
    own_parts=(
        Declarations("exceptions.boundaries", "sys"),
        Declarations("exceptions.server_spans", "opentelemetry.trace"),
    ),
    without="Exceptions are not counted.",
)
