"""`otel-fastpath docs`: the pages of the documentation, which are a part of the package."""
