"""`opentelemetry-instrumentation-aiohttp-client`."""
