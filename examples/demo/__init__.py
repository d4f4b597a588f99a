"""`python -m examples.demo`: what OpenTelemetry costs the example service, alone and with otel-fastpath."""
