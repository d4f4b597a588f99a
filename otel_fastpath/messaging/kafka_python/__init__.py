"""`opentelemetry-instrumentation-kafka-python`: messages that kafka-python sends and receives."""
