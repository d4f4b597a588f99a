"""Which span is the current one: the context and its scopes, and the headers that carry it between processes."""
