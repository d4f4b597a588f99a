"""`opentelemetry-instrumentation-urllib3`."""
