"""Where a service's telemetry spends its CPU: `otel-fastpath profile`, and a context manager for one's own programs.

Its public names are those of `otel_fastpath.profile`.
"""
