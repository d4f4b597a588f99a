"""`opentelemetry-instrumentation-grpc`: calls of clients and servers, sync and asyncio, unary and streams."""
