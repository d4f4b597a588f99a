"""The operations that `bench` knows."""

from __future__ import annotations

from typing import Final

from otel_fastpath.budget.bench.library_probes import LIBRARIES
from otel_fastpath.budget.bench.telemetry_probes import TELEMETRY

PROBES: Final = (*TELEMETRY, *LIBRARIES)
