"""Runs a user's program with and without telemetry, for `otel-fastpath verify` and `otel-fastpath bench --url`."""
