"""The middleware of `opentelemetry-instrumentation-django`."""
