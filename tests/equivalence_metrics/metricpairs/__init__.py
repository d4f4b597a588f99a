"""Random programs of measurements, run by stock OpenTelemetry and by the fast path, and what became of them."""
