"""`opentelemetry-instrumentation-pika`: messages that pika sends and receives."""
