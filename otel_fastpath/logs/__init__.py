"""Log records."""
