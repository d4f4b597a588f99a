"""`opentelemetry-instrumentation-httpx`, which instruments httpx and httpx2."""
