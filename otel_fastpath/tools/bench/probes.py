"""The operations that `bench` knows."""

from __future__ import annotations

from typing import Final

from otel_fastpath.tools.bench.library_probes import LIBRARIES
from otel_fastpath.tools.bench.telemetry_probes import TELEMETRY

PROBES: Final = (*TELEMETRY, *LIBRARIES)
