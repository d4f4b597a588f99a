"""Suppressing instrumentation in a block, and asking whether it is: `opentelemetry.instrumentation.utils`."""
