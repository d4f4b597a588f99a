"""Compares what vendors' packages send with otel-fastpath to what they send without it."""
