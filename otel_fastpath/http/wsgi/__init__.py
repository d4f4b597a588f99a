"""The middleware of `opentelemetry-instrumentation-wsgi`."""
