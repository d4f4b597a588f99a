"""`python -m examples.demo`: what OpenTelemetry costs the example service, as it is and with otel-fastpath."""
