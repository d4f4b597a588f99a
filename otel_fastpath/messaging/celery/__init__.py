"""`opentelemetry-instrumentation-celery`: tasks that are sent, and tasks that run."""
