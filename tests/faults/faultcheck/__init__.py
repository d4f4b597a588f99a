"""Raises in this package's own lines, one at a time, and judges what the host and its telemetry get."""
