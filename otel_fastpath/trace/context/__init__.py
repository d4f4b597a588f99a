"""Which span is the current one: the context and its scopes."""
