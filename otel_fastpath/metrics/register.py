"""The patches of metrics."""

from __future__ import annotations

from typing import Final

from otel_fastpath.patching.declarations import Declarations
from otel_fastpath.patching.feature import Feature

_SDK: Final = "opentelemetry.sdk.metrics"

FEATURE: Final = Feature(
    "metrics",
    parts=(
        Declarations("metrics.patches_recording", _SDK),
        Declarations("metrics.patches_collecting", _SDK),
        Declarations("metrics.patches_observing", _SDK),
        Declarations("metrics.prometheus.patches_prometheus", "opentelemetry.exporter.prometheus", "prometheus_client"),
    ),
)
