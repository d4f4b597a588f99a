"""Starts OpenTelemetry in a process: `opentelemetry-instrument` with instrumentations that are loaded when needed."""
