"""`otel-fastpath verify`: compare the telemetry of a program with stock OpenTelemetry and with otel-fastpath."""

from __future__ import annotations

from typing import Final

# The fewest runs with stock OpenTelemetry: what differs between two of them varies by itself.
LEAST_RUNS: Final = 2
