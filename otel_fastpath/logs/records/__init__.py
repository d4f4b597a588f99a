"""Log records: what they keep and how they are emitted."""
