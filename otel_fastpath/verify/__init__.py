"""`otel-fastpath verify`: compare the telemetry of a program with stock OpenTelemetry and with otel-fastpath."""
