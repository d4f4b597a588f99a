"""What OpenTelemetry's encoder refuses, altered so that it can be sent; the rest of its batch is sent as it is."""
