"""The middleware of `opentelemetry-instrumentation-aiohttp-server`."""
