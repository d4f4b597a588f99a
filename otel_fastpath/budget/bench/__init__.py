"""`otel-fastpath bench`: what the hooks of this environment cost, bare / stock / fastpath."""
