"""What the guard of `OTEL_FASTPATH_MAX_CPU` does: a simulation, the prices that it uses, and a live demonstration."""
