"""`opentelemetry-instrumentation-aio-pika`: messages that aio-pika sends and receives."""
