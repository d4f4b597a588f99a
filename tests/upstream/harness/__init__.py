"""Runs stock's own test suites, stock and with otel-fastpath, and compares what passed."""
