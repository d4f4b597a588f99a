"""Spans: the hot modules, and the patches that put them in the place of OpenTelemetry's own."""
