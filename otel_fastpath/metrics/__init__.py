"""Metrics: the hot modules, and the patches that replace OpenTelemetry's own code with them."""
