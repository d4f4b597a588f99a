"""The table of features. To remove a feature, delete its folder and the two lines with its name here.

This module is imported when instrumenting, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from otel_fastpath.exceptions import register as exceptions
from otel_fastpath.guard import register as guard
from otel_fastpath.libraries import register as libraries
from otel_fastpath.logs import register as logs
from otel_fastpath.metrics import register as metrics
from otel_fastpath.others import register as others
from otel_fastpath.otlp import register as otlp
from otel_fastpath.trace import register as trace

if TYPE_CHECKING:
    from otel_fastpath.patching.feature import Feature

# In the order in which their patches are applied.
FEATURES: Final[tuple[Feature, ...]] = (
    others.FEATURE,
    trace.FEATURE,
    metrics.FEATURE,
    logs.FEATURE,
    otlp.FEATURE,
    libraries.FEATURE,
    exceptions.FEATURE,
    guard.FEATURE,
)
