"""Programs that use OpenTelemetry at random, and what can be seen of them: the same seed makes the same program."""
