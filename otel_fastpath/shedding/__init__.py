"""Holds telemetry to a share of the CPU: `OTEL_FASTPATH_MAX_CPU=3%`.

The guard measures what telemetry costs (`clocks`, `hooks`, `watches`), decides once a second what to shed (`control`),
and sheds it (`spans`, `sampler`, `logs`). `keeper` does this in one thread. Nothing here is imported while the setting
is not made.
"""
