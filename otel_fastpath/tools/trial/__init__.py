"""`otel-fastpath try`: what telemetry costs a service, what it would cost, and whether the telemetry is the same."""
