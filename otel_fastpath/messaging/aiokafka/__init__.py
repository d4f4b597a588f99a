"""`opentelemetry-instrumentation-aiokafka`: messages that aiokafka sends and receives."""
