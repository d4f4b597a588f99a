"""`otel-fastpath bench`: the cost of the hooks in this environment, measured in the legs bare, stock and fastpath."""
