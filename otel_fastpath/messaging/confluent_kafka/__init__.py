"""`opentelemetry-instrumentation-confluent-kafka`: messages that confluent-kafka sends and receives."""
