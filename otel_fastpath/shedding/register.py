"""The feature of the guard, which is started if the settings name a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import wrong_settings
from otel_fastpath.patching.feature import Feature, OwnMetric
from otel_fastpath.patching.patch import Row, State
from otel_fastpath.settings import Setting
from otel_fastpath.shedding import clocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.settings import Config

NAME: Final = "guard"
_SHARE: Final = "max_cpu"
_WHY: Final = "Holds telemetry to a share of the CPU."
_NOT_SET: Final = f"{_SHARE} is not set"


class _GuardFeature(Feature):
    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        global _state, _reason
        self.stop()
        reason = off(NAME) or (None if settings.features[_SHARE] else _NOT_SET)
        if reason is not None:
            _state, _reason = State.OFF, reason
            return
        reason = clocks.why_not()
        if reason:
            _state, _reason = State.SKIPPED, reason
            return
        from otel_fastpath.shedding import keeper  # noqa: PLC0415  # not imported by a process without a limit

        keeper.start(settings.features[_SHARE], providers.get("tracer_provider"), providers.get("meter_provider"))
        _state, _reason = State.APPLIED, ""

    def stop(self) -> None:
        global _state, _reason
        if _state is State.APPLIED:
            from otel_fastpath.shedding import keeper  # noqa: PLC0415  # as above

            _state, _reason = State.OFF, "uninstrumented"
            keeper.stop()

    def status(self, *, loads: bool = True) -> list[Row]:  # noqa: ARG002  # nothing is loaded for it
        reason = _reason
        if _state is State.APPLIED:
            from otel_fastpath.shedding import keeper  # noqa: PLC0415  # as above

            running = keeper.keeper()
            reason = "" if running is None else running.describe()
        return [Row(NAME, "opentelemetry.sdk", _state, reason, _WHY)]

    def metrics(self) -> list[OwnMetric]:
        from otel_fastpath.shedding.observables import INSTRUMENTS  # noqa: PLC0415  # as above

        return [OwnMetric(NAME, name, f"observable {kind}", *rest) for name, (kind, *rest) in INSTRUMENTS.items()]


def parse_share(setting: str, value: Any) -> float:
    """The share of the process's CPU that telemetry may take, from "3%" or 0.03; 0 if it is not set or not valid."""
    if value == "":
        return 0.0
    try:
        text = str(value).strip()
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        if 0 < share < 1 and not isinstance(value, bool):
            return share
    except ValueError:
        pass  # not a number at all
    wrong_settings.report(setting, value, "a percentage below 100, such as 3%", "Telemetry is not limited.")
    return 0.0


_state: State = State.OFF
_reason = _NOT_SET

FEATURE: Final = _GuardFeature(
    NAME, settings=(Setting(_SHARE, parse_share),), without="Telemetry is not held to a share of the CPU."
)
