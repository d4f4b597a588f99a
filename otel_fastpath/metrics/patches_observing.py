"""Collecting for a reader: `SynchronousMeasurementConsumer.collect` of `opentelemetry.sdk.metrics`.

Stock: 107,000 instructions for an observation of an observable instrument (CPython 3.13, SDK 1.45.2), because each one
is a measurement with attributes that are copied, cleaned and turned into a key. Here known attributes are found as in
`patches_recording`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.metrics.known_types import FINDING
from otel_fastpath.metrics.set_up import set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK, sources, sources_if_any

if TYPE_CHECKING:
    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.sdk.metrics._internal"
_TARGET: Final = f"{_MODULE}.measurement_consumer:SynchronousMeasurementConsumer.collect"
_forgetting: Final[list[Any]] = []


def _forget() -> None:
    while _forgetting:
        _forgetting.pop()()


def _make(original: Any, settings: Config) -> Any:
    observables = set_up(settings).observables
    _forgetting.append(observables.forget)
    return hot.metrics_instruments_observing.bind_collect(original, observables.collect)


PATCHES: Final = (
    Patch(
        name="metrics.observe",
        target=_TARGET,
        why="An observation takes 107,000 instructions; here a look-up and an addition.",
        make=_make,
        requires=SDK,
        sources=sources(
            _TARGET,
            f"{_MODULE}.instrument:_Asynchronous.callback",
            f"{_MODULE}.measurement:Measurement",
            *FINDING,
        )
        | sources_if_any(f"{_MODULE}:_ProxyMeterConfig.is_enabled"),
        undo=_forget,
        budgets=("collect 100 observations",),
    ),
)
