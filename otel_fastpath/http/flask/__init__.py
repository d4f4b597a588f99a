"""The functions that `opentelemetry-instrumentation-flask` adds to an application."""
