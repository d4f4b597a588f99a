"""`opentelemetry-instrumentation-requests`."""
