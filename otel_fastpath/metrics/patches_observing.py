"""Collecting for a reader: `SynchronousMeasurementConsumer.collect` of `opentelemetry.sdk.metrics`.

Stock: 107,000 instructions for an observation of an observable instrument (CPython 3.13, SDK 1.45.2), because each one
is a measurement with attributes that are copied, cleaned and turned into a key. Here known attributes are found as in
`patches_recording`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.metrics.known_types import FINDING
from otel_fastpath.metrics.set_up import set_up
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.context.scope import Switch, is_inert, patching
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
    from otel_fastpath.metrics.observed import is_usual  # noqa: PLC0415  # it imports the SDK: only where it is patched

    ready = set_up(settings)
    observables = ready.observables
    _forgetting.append(observables.forget)
    switch = Switch()

    @functools.wraps(original)
    def collect(self: Any, metric_reader: Any, timeout_millis: float = 10_000) -> Any:
        if is_inert(switch) or not is_usual(self):
            return original(self, metric_reader, timeout_millis)
        return observables.collect(self, metric_reader, timeout_millis)

    return patching(original, collect, switch)


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
